#include "measure/machine.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "measure/settings.h"
#include "measure/sysfs.h"
#include "traces/command.h"

enum { PCI_VENDOR_NVIDIA = 0x10de, PCI_CLASS_DISPLAY = 0x03, CONFIG_SPACE = 4096 };

int pcie_generation(double gts)
{
    static const double rates[] = {2.5, 5, 8, 16, 32, 64};
    for (int i = 0; i < 6; i++)
        if (gts > rates[i] * 0.99 && gts < rates[i] * 1.01)
            return i + 1;
    return 0;
}

static uint32_t little32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ACS of a bridge: the extended capability 0x000d, its control register at offset 6, where bits 2
 * and 3 redirect requests and completions (PCIe base specification, 7.7.8). Config space beyond 64
 * bytes is readable only for root. */
static int acs_redirect(const char *root, const char *pci)
{
    char config[CONFIG_SPACE + 1];
    ssize_t n = sysfs_read(root, config, sizeof config, "sys/bus/pci/devices/%s/config", pci);
    const unsigned char *p = (const unsigned char *)config;
    if (n < 0x104)
        return -1;
    for (size_t at = 0x100, steps = 0; at >= 0x100 && at + 8 <= (size_t)n && steps < 128; steps++) {
        uint32_t head = little32(p + at);
        if ((head & 0xffff) == 0x000d)
            return (p[at + 6] & 0x0c) != 0;
        at = head >> 20;
    }
    return 0;
}

/* The bridges above a device: the components of its resolved path that are PCI addresses. */
static void read_bridges(const char *root, struct machine_gpu *g)
{
    char path[PATH_MAX], real[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s", root, g->pci);
    if (n < 0 || (size_t)n >= sizeof path || realpath(path, real) == NULL)
        return;
    char *save = NULL;
    for (char *part = strtok_r(real, "/", &save); part != NULL; part = strtok_r(NULL, "/", &save)) {
        unsigned domain, bus, device, function;
        int used = 0;
        if (sscanf(part, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4 ||
            part[used] != '\0' || strcmp(part, g->pci) == 0 || g->n_bridges == MAX_BRIDGES)
            continue;
        struct machine_bridge *b = &g->bridges[g->n_bridges++];
        snprintf(b->pci, sizeof b->pci, "%.19s", part);
        b->acs_redirect = acs_redirect(root, b->pci);
    }
}

/* "32.0 GT/s PCIe" */
static double read_speed(const char *root, const char *pci, const char *file)
{
    char text[64], *end;
    if (sysfs_read(root, text, sizeof text, "sys/bus/pci/devices/%s/%s", pci, file) <= 0)
        return -1;
    double x = strtod(text, &end);
    return end != text && x > 0 && x < 1000 ? x : -1;
}

static int64_t largest_window(const char *root, const char *pci)
{
    char text[4096], *save = NULL;
    int64_t best = -1;
    if (sysfs_read(root, text, sizeof text, "sys/bus/pci/devices/%s/resource", pci) <= 0)
        return -1;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *end;
        unsigned long long first = strtoull(line, &end, 16), last = strtoull(end, &end, 16);
        if (last > first && last - first < (unsigned long long)INT64_MAX &&
            (int64_t)(last - first + 1) > best)
            best = (int64_t)(last - first + 1);
    }
    return best;
}

/* The total of an AER counter file: its line "TOTAL_ERR_COR n". */
static int64_t correctable_errors(const char *root, const char *pci)
{
    char text[1024];
    if (sysfs_read(root, text, sizeof text, "sys/bus/pci/devices/%s/aer_dev_correctable", pci) <= 0)
        return -1;
    const char *total = strstr(text, "TOTAL_ERR_COR ");
    return total == NULL ? -1 : strtoll(total + strlen("TOTAL_ERR_COR "), NULL, 10);
}

static void read_gpu(struct machine *m, const char *root, const char *pci)
{
    struct machine_gpu *g = &m->gpu[m->n_gpus++];
    *g = (struct machine_gpu){.memory_bytes = -1, .nvml = {.link_gen = -1, .throttle = -1}};
    snprintf(g->pci, sizeof g->pci, "%.19s", pci);
    g->link_gts = read_speed(root, pci, "current_link_speed");
    g->link_gts_max = read_speed(root, pci, "max_link_speed");
    g->link_width = (int)sysfs_number(root, -1, "sys/bus/pci/devices/%s/current_link_width", pci);
    g->link_width_max = (int)sysfs_number(root, -1, "sys/bus/pci/devices/%s/max_link_width", pci);
    g->numa_node = (int)sysfs_number(root, -1, "sys/bus/pci/devices/%s/numa_node", pci);
    g->bar_bytes = largest_window(root, pci);
    g->correctable = correctable_errors(root, pci);
    if (sysfs_exists(root, "sys/bus/pci/devices/%s/iommu_group", pci))
        sysfs_read(root, g->iommu_type, sizeof g->iommu_type,
                   "sys/bus/pci/devices/%s/iommu_group/type", pci);
    else
        snprintf(g->iommu_type, sizeof g->iommu_type, "none");
    read_bridges(root, g);
    char information[512];
    if (sysfs_read(root, information, sizeof information, "proc/driver/nvidia/gpus/%s/information",
                   pci) > 0) {
        const char *model = strstr(information, "Model:");
        if (model != NULL) {
            model += strlen("Model:") + strspn(model + strlen("Model:"), " \t");
            snprintf(g->name, sizeof g->name, "%.*s", (int)strcspn(model, "\n"), model);
        }
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void read_gpus(struct machine *m, const char *root)
{
    char path[PATH_MAX], found[MAX_GPUS][20];
    int n = 0;
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices", root);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && n < MAX_GPUS && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof found[0])
            continue;
        if (sysfs_number(root, 0, "sys/bus/pci/devices/%s/vendor", e->d_name) ==
                PCI_VENDOR_NVIDIA &&
            sysfs_number(root, 0, "sys/bus/pci/devices/%s/class", e->d_name) >> 16 ==
                PCI_CLASS_DISPLAY)
            snprintf(found[n++], sizeof found[0], "%.19s", e->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    qsort(found, (size_t)n, sizeof found[0], compare_names);
    for (int i = 0; i < n; i++)
        read_gpu(m, root, found[i]);
}

static struct machine_gpu *gpu_at(struct machine *m, const char *pci)
{
    for (int i = 0; i < m->n_gpus; i++)
        if (strcasecmp(m->gpu[i].pci, pci) == 0)
            return &m->gpu[i];
    return NULL;
}

/* NVML of this machine. GPUs that sysfs does not show (some containers) are added. */
static void read_nvml(struct machine *m)
{
    struct nvml *nvml = nvml_open();
    int index[MAX_GPUS], n = nvml_count(nvml);
    m->have_nvml = nvml != NULL;
    nvml_driver(nvml, m->driver, sizeof m->driver);
    for (int i = 0; i < n; i++) {
        struct nvml_gpu g;
        index[i] = -1;
        if (nvml_read(nvml, i, &g) != 0)
            continue;
        struct machine_gpu *at = gpu_at(m, g.pci);
        if (at == NULL && m->n_gpus < MAX_GPUS)
            read_gpu(m, "", g.pci), at = &m->gpu[m->n_gpus - 1];
        if (at == NULL)
            continue;
        index[i] = (int)(at - m->gpu);
        at->nvml = g;
        at->memory_bytes = g.memory_bytes;
        snprintf(at->name, sizeof at->name, "%s", g.name);
        if (g.n_pids > m->foreign_pids)
            m->foreign_pids = g.n_pids;
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            if (a == b || index[a] < 0 || index[b] < 0)
                continue;
            const char *why, *common = nvml_common(nvml, a, b);
            int i = index[a], k = index[b];
            m->p2p_read[i][k] = (signed char)nvml_p2p(nvml, a, b, 1, &why);
            m->p2p_write[i][k] = (signed char)nvml_p2p(nvml, a, b, 0, &why);
            if (m->p2p_write[i][k] == 0)
                snprintf(m->p2p_why, sizeof m->p2p_why, "%s", why);
            if (common != NULL)
                snprintf(m->common[i][k], sizeof m->common[i][k], "%s", common);
        }
    nvml_close(nvml);
}

static void recorded_number(const cJSON *object, const char *key, int64_t *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsNumber(item))
        *value = (int64_t)item->valuedouble;
}

/* ROOT/nvml.json: {"driver":"...", "p2p":0|1, "p2p_why":"...", "gpus":[{"pci":"...", "name":"...",
 * "memory_bytes":n, "throttle":bits, "processes":n, "link_gen_max":n, "persistence":0|1}]} */
static void read_recorded_nvml(struct machine *m, const char *root)
{
    enum { ROOM = 1 << 16 };
    char *text = malloc(ROOM);
    cJSON *json = NULL;
    if (text != NULL && sysfs_read(root, text, ROOM, "nvml.json") > 0)
        json = cJSON_Parse(text);
    free(text);
    if (json == NULL)
        return;
    m->have_nvml = 1;
    const cJSON *driver = cJSON_GetObjectItemCaseSensitive(json, "driver"), *item;
    if (cJSON_IsString(driver))
        snprintf(m->driver, sizeof m->driver, "%s", driver->valuestring);
    const cJSON *why = cJSON_GetObjectItemCaseSensitive(json, "p2p_why");
    if (cJSON_IsString(why))
        snprintf(m->p2p_why, sizeof m->p2p_why, "%s", why->valuestring);
    int64_t p2p = -1;
    recorded_number(json, "p2p", &p2p);
    for (int a = 0; a < m->n_gpus; a++)
        for (int b = 0; b < m->n_gpus; b++)
            if (a != b)
                m->p2p_write[a][b] = m->p2p_read[a][b] = (signed char)(p2p < 0 ? -1 : p2p != 0);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "gpus"))
    {
        const cJSON *pci = cJSON_GetObjectItemCaseSensitive(item, "pci");
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
        struct machine_gpu *g = cJSON_IsString(pci) ? gpu_at(m, pci->valuestring) : NULL;
        if (g == NULL)
            continue;
        int64_t pids = -1, link = -1, persistence = -1;
        if (cJSON_IsString(name))
            snprintf(g->name, sizeof g->name, "%s", name->valuestring);
        recorded_number(item, "memory_bytes", &g->memory_bytes);
        recorded_number(item, "throttle", &g->nvml.throttle);
        recorded_number(item, "processes", &pids);
        recorded_number(item, "link_gen_max", &link);
        recorded_number(item, "persistence", &persistence);
        g->nvml.link_gen_max = (int)link;
        g->nvml.persistence = (int)persistence;
        if (pids > m->foreign_pids)
            m->foreign_pids = (int)pids;
    }
    cJSON_Delete(json);
}

/* The value of the first line "KEY...: value". */
static void colon_value(const char *text, const char *key, char *out, size_t room)
{
    const char *p = strstr(text, key);
    out[0] = '\0';
    if (p == NULL || (p = strchr(p, ':')) == NULL)
        return;
    p += 1 + strspn(p + 1, " \t");
    snprintf(out, room, "%.*s", (int)strcspn(p, "\n"), p);
}

static void read_cpu(struct machine *m, const char *root)
{
    char text[16384], list[1024];
    if (sysfs_read(root, text, sizeof text, "proc/cpuinfo") > 0)
        colon_value(text, "model name", m->cpu, sizeof m->cpu);
    if (sysfs_read(root, list, sizeof list, "sys/devices/system/cpu/online") > 0)
        m->cores = list_count(list);
    if (sysfs_read(root, list, sizeof list, "sys/devices/system/node/online") > 0)
        m->numa_nodes = list_count(list);
    sysfs_read(root, m->governor, sizeof m->governor,
               "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    sysfs_read(root, m->kernel, sizeof m->kernel, "proc/sys/kernel/osrelease");
    char status[8192], allowed[1024];
    for (int i = 0; i < MAX_GPUS; i++)
        m->numa_cores[i] = -1;
    if (sysfs_read(root, status, sizeof status, "proc/self/status") <= 0)
        return;
    colon_value(status, "Cpus_allowed_list", allowed, sizeof allowed);
    for (int i = 0; i < MAX_GPUS && i < m->numa_nodes && allowed[0] != '\0'; i++)
        if (sysfs_read(root, list, sizeof list, "sys/devices/system/node/node%d/cpulist", i) > 0)
            m->numa_cores[i] = list_common(allowed, list);
}

/* The size of /dev/shm: from statvfs here, from the mount's option below a root. */
static int64_t shm_size(const char *root)
{
    char mounts[32768], *save = NULL;
    struct statvfs v;
    if (root[0] == '\0' && statvfs("/dev/shm", &v) == 0)
        return (int64_t)v.f_blocks * (int64_t)v.f_frsize;
    if (sysfs_read(root, mounts, sizeof mounts, "proc/mounts") <= 0)
        return -1;
    for (char *line = strtok_r(mounts, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (strstr(line, " /dev/shm ") == NULL)
            continue;
        const char *size = strstr(line, "size=");
        if (size == NULL)
            return INT64_MAX; /* no limit given: half of memory */
        char *end;
        long long x = strtoll(size + 5, &end, 10);
        int shift = *end == 'k' ? 10 : *end == 'm' ? 20 : *end == 'g' ? 30 : 0;
        return x >= 0 && x < 1 << 30 ? (int64_t)((uint64_t)x << shift) : INT64_MAX;
    }
    return 0;
}

enum status machine_read(struct machine *m, const char *root, struct err *err)
{
    struct stat st;
    memset(m, 0, sizeof *m);
    memset(m->p2p_write, -1, sizeof m->p2p_write);
    memset(m->p2p_read, -1, sizeof m->p2p_read);
    m->foreign_pids = -1;
    if (root[0] != '\0' && (stat(root, &st) != 0 || !S_ISDIR(st.st_mode)))
        return err_set(err, STATUS_INPUT,
                       "%s is no folder: a recorded machine is a tree with sys/ and proc/ in it",
                       root);
    read_gpus(m, root);
    char version[256];
    if (sysfs_read(root, version, sizeof version, "proc/driver/nvidia/version") > 0) {
        const char *p = strstr(version, "  ");
        if (p != NULL)
            snprintf(m->driver, sizeof m->driver, "%.*s", (int)strcspn(p + 2, " "), p + 2);
    }
    if (root[0] == '\0')
        read_nvml(m);
    else
        read_recorded_nvml(m, root);
    read_cpu(m, root);
    m->shm_bytes = shm_size(root);
    m->in_container = sysfs_exists(root, ".dockerenv") || sysfs_exists(root, "run/.containerenv");
    settings_read(m, root);
    return STATUS_OK;
}

static int add_text(cJSON *object, const char *key, const char *value)
{
    return value[0] == '\0' || cJSON_AddStringToObject(object, key, value) != NULL;
}

static int add_number(cJSON *object, const char *key, double value)
{
    return value < 0 || cJSON_AddNumberToObject(object, key, value) != NULL;
}

static int gpu_json(cJSON *gpus, const struct machine_gpu *g)
{
    cJSON *o = cJSON_CreateObject();
    if (o == NULL || !cJSON_AddItemToArray(gpus, o)) {
        cJSON_Delete(o);
        return 0;
    }
    int gen = g->nvml.link_gen > 0 ? g->nvml.link_gen : pcie_generation(g->link_gts);
    int gen_max =
        g->nvml.link_gen_max > 0 ? g->nvml.link_gen_max : pcie_generation(g->link_gts_max);
    return add_text(o, "name", g->name) && add_text(o, "pci", g->pci) &&
           add_number(o, "pcie_generation", gen > 0 ? gen : -1) &&
           add_number(o, "pcie_generation_max", gen_max > 0 ? gen_max : -1) &&
           add_number(o, "pcie_width", g->link_width) &&
           add_number(o, "pcie_width_max", g->link_width_max) &&
           add_number(o, "numa_node", g->numa_node) && add_text(o, "iommu", g->iommu_type) &&
           add_number(o, "bar_bytes", (double)g->bar_bytes) &&
           add_number(o, "memory_bytes", (double)g->memory_bytes) &&
           add_text(o, "root_port", g->n_bridges > 0 ? g->bridges[0].pci : "") &&
           (g->nvml.throttle < 0 || (add_number(o, "sm_mhz", g->nvml.sm_mhz) &&
                                     add_number(o, "sm_mhz_max", g->nvml.sm_mhz_max) &&
                                     add_number(o, "power_limit_w", g->nvml.power_limit_w) &&
                                     add_number(o, "temperature_c", g->nvml.temperature_c) &&
                                     add_number(o, "pcie_replays", (double)g->nvml.replays) &&
                                     add_number(o, "throttle", (double)g->nvml.throttle)));
}

static int topology_json(cJSON *host, const struct machine *m)
{
    if (m->n_gpus < 2 || m->common[0][1][0] == '\0')
        return 1;
    cJSON *rows = cJSON_AddArrayToObject(host, "topology");
    for (int a = 0; rows != NULL && a < m->n_gpus; a++) {
        cJSON *row = cJSON_CreateArray();
        if (row == NULL || !cJSON_AddItemToArray(rows, row))
            return 0;
        for (int b = 0; b < m->n_gpus; b++) {
            cJSON *cell = cJSON_CreateString(a == b ? "X" : m->common[a][b]);
            if (cell == NULL || !cJSON_AddItemToArray(row, cell))
                return 0;
        }
    }
    return rows != NULL;
}

/* What lies around changes what was measured, so a trace says it. */
static int settings_json(cJSON *host, const struct machine *m)
{
    cJSON *o = m->n_settings == 0 ? NULL : cJSON_AddObjectToObject(host, "settings");
    int ok = m->n_settings == 0 || o != NULL;
    for (int i = 0; i < m->n_settings && ok; i++)
        ok = cJSON_HasObjectItem(o, m->settings[i].name) || /* the first of a name counts */
             cJSON_AddStringToObject(o, m->settings[i].name, m->settings[i].value) != NULL;
    return ok;
}

cJSON *machine_json(const struct machine *m)
{
    cJSON *host = cJSON_CreateObject();
    cJSON *gpus = host == NULL ? NULL : cJSON_AddArrayToObject(host, "gpus");
    int ok = gpus != NULL;
    for (int i = 0; i < m->n_gpus && ok; i++)
        ok = gpu_json(gpus, &m->gpu[i]);
    ok = ok && (!m->under_load || cJSON_AddBoolToObject(host, "links_under_load", 1) != NULL) &&
         add_text(host, "driver", m->driver) && add_text(host, "cpu", m->cpu) &&
         add_number(host, "cores", m->cores) && add_number(host, "numa_nodes", m->numa_nodes) &&
         add_text(host, "kernel", m->kernel) && topology_json(host, m) && settings_json(host, m) &&
         (m->foreign_pids < 1 || add_number(host, "other_processes", m->foreign_pids));
    if (!ok) {
        cJSON_Delete(host);
        return NULL;
    }
    return host;
}
