/* A box as a graph, for pricing what has not been measured: GPUs, switches, root ports, sockets and
 * their memories, joined by links; and the parameters that a graph alone does not hold.
 *
 * Plain data that owns nothing, so a fabric can be copied and changed ("what if the uplinks were
 * twice as fast?"). It is large (over 100 KB): keep it on the heap or static, not on a small stack.
 * Bandwidths are 10^9 bytes per second in one direction, times microseconds.
 */
#ifndef UPDRAFT_MODEL_FABRIC_H
#define UPDRAFT_MODEL_FABRIC_H

#include "model/err.h"
#include "model/record.h"

enum {
    FABRIC_MAX_GPUS = 64,
    FABRIC_MAX_SOCKETS = 8,
    FABRIC_MAX_ENDS = FABRIC_MAX_GPUS + FABRIC_MAX_SOCKETS, /* GPUs, then memories */
    FABRIC_MAX_NODES = 256,
    FABRIC_MAX_LINKS = 512,
    FABRIC_MAX_HOPS = 10,
};

/* Where a number comes from. */
enum fabric_from { FABRIC_ASSUMED, FABRIC_MEASURED };

/* A number with its 95 % interval. */
struct fabric_quantity {
    double value, low, high;
    enum fabric_from from;
};

enum fabric_param {
#define FABRIC_PARAM(id, value, low, high, doc) FABRIC_##id,
#include "model/fabric_params.def"
#undef FABRIC_PARAM
    FABRIC_PARAM_COUNT,
    FABRIC_none = FABRIC_PARAM_COUNT
};

enum fabric_link_kind {
#define FABRIC_LINK(id, capacity, hop, duplex, doc) FABRIC_LINK_##id,
#include "model/fabric_links.def"
#undef FABRIC_LINK
    FABRIC_LINK_KINDS
};

enum fabric_node_kind {
    FABRIC_GPU,
    FABRIC_SWITCH,
    FABRIC_ROOT,
    FABRIC_SOCKET,
    FABRIC_MEMORY,
    FABRIC_NVSWITCH,
    FABRIC_NODE_KINDS
};

struct fabric_node {
    enum fabric_node_kind kind;
    char name[32];
    int end; /* its number among the ends (GPUs first, then memories), or -1 */
};

struct fabric_link {
    int a, b; /* nodes */
    enum fabric_link_kind kind;
    double gb_per_s; /* its own capacity; 0: the parameter of its kind */
};

struct fabric {
    char name[96];
    int compute_capability; /* of the GPUs, 120 for 12.0; 0 unknown */
    int peer_access;        /* 1: kernels reach peers' memory */
    int multicast;          /* 1: the NVSwitch reduces and multicasts */
    int n_nodes, n_links, n_gpus, n_memories;
    struct fabric_node nodes[FABRIC_MAX_NODES];
    struct fabric_link links[FABRIC_MAX_LINKS];
    int end_node[FABRIC_MAX_ENDS]; /* node of each end */
    struct fabric_quantity param[FABRIC_PARAM_COUNT];

    /* Filled by fabric_route(): the links from one end to another, as link * 2 + (0: a to b,
     * 1: b to a). A GPU reaches itself by its local link. */
    short hops[FABRIC_MAX_ENDS][FABRIC_MAX_ENDS];
    short route[FABRIC_MAX_ENDS][FABRIC_MAX_ENDS][FABRIC_MAX_HOPS];
    short root_of[FABRIC_MAX_ENDS];   /* node of the root port (or switch, socket) above each end */
    short socket_of[FABRIC_MAX_ENDS]; /* number of the memory nearest to each end, or -1 */
    int nvlinked[FABRIC_MAX_GPUS];    /* 1: the GPU has an NVLink */
};

/* An empty fabric with every parameter as assumed. */
void fabric_init(struct fabric *f, const char *name);
/* Add a node or a link; return its number, or -1 where there is no room (or a bad node). */
int fabric_add_node(struct fabric *f, enum fabric_node_kind kind, const char *name);
int fabric_add_link(struct fabric *f, int a, int b, enum fabric_link_kind kind, double gb_per_s);
/* Completes a fabric: adds the local links, checks the graph and every parameter, finds the
 * shortest routes (fewest links, never through a GPU or a memory). STATUS_INPUT where a GPU cannot
 * be reached or a number makes no sense; the message says which. Call after the last change to the
 * graph. */
enum status fabric_route(struct fabric *f, struct err *err);

/* A box by its counts. Zero members mean what their comments say. */
struct fabric_shape {
    int gpus;
    int sockets;          /* 0: 1 */
    int switches;         /* 0: every GPU on its own root port */
    int virtual_switches; /* per chip, each with its own uplink; 0: 1 */
    int nvswitch;         /* 1: all GPUs on an NVSwitch, PCIe beside it */
    int nvlink_pairs;     /* 1: GPUs 0-1, 2-3, ... joined by NVLink */
    int pcie_generation;  /* 0: 5 */
    int no_peer_access;
    int multicast;
    int compute_capability;
};
/* Builds and routes it. Capacities follow the PCIe generation. STATUS_INPUT on impossible counts.
 */
enum status fabric_build(struct fabric *f, const char *name, const struct fabric_shape *shape,
                         struct err *err);

/* The presets, rows of fabric_presets.def. */
struct fabric_preset {
    const char *id, *doc;
    struct fabric_shape shape;
};
extern const struct fabric_preset fabric_presets[];
extern const int fabric_preset_count;
/* STATUS_USAGE names the presets where there is none of that id. gpus > 0 replaces the preset's. */
enum status fabric_preset(struct fabric *f, const char *id, int gpus, struct err *err);

/* Replaces a parameter by a measured value with its 95 % interval. */
void fabric_measured(struct fabric *f, enum fabric_param p, double value, double low, double high);
/* Replaces an assumption. */
void fabric_assumed(struct fabric *f, enum fabric_param p, double value, double low, double high);

/* Sets the assumptions on PCIe bandwidths, which are those of generation 5, to another
 * generation's, 1 to 7. For a fabric as fabric_init() leaves it. */
void fabric_assume_pcie(struct fabric *f, int generation);

/* Builds a fabric from a trace's records: topology, p2p_write_latency, p2p_read_latency,
 * fence_latency, node_gap, bandwidth, contention (docs/fabric.md says which record sets which
 * parameter). Never looks at allreduce records. STATUS_UNSUPPORTED where the records name no GPU.
 */
enum status fabric_from_records(struct fabric *f, const struct records *rs, struct err *err);

const char *fabric_param_name(enum fabric_param p);
const char *fabric_param_doc(enum fabric_param p);
enum fabric_param fabric_param_find(const char *name); /* FABRIC_PARAM_COUNT: none */
const char *fabric_link_name(enum fabric_link_kind k);
enum fabric_link_kind fabric_link_find(const char *name); /* FABRIC_LINK_KINDS: none */
enum fabric_param fabric_link_capacity(enum fabric_link_kind k);
enum fabric_param fabric_link_hop(enum fabric_link_kind k); /* FABRIC_none: adds nothing */
enum fabric_param
fabric_link_duplex(enum fabric_link_kind k); /* FABRIC_none: no limit of the sum */
const char *fabric_node_kind_name(enum fabric_node_kind k);

/* Capacity of a link in one direction, GB/s. */
double fabric_link_gb_per_s(const struct fabric *f, int link);
/* What the hops between two ends add to a latency, one way, us. */
double fabric_hops_us(const struct fabric *f, int from_end, int to_end);

#endif
