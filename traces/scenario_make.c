#include "traces/scenario_make.h"

#include <stdlib.h>
#include <string.h>

/* --- config.json ----------------------------------------------------------------------------- */

/* The first of the names that is a number, or `absent`. */
static double get(const cJSON *config, const char *const *names, double absent)
{
    for (; *names != NULL; names++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, *names);
        if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e9)
            return item->valuedouble;
    }
    return absent;
}
#define GET(config, absent, ...) get(config, (const char *const[]){__VA_ARGS__, NULL}, absent)

/* Bytes of one routed weight: quantised where the config says so, scales included. */
static double weight_bytes(const cJSON *config)
{
    const cJSON *q = cJSON_GetObjectItemCaseSensitive(config, "quantization_config");
    if (!cJSON_IsObject(q)) {
        const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(config, "torch_dtype");
        return cJSON_IsString(dtype) && strcmp(dtype->valuestring, "float32") == 0 ? 4 : 2;
    }
    double bits = GET(q, 0, "bits", "w_bit");
    if (bits > 0)
        return bits / 8 * 1.06;
    char *text = cJSON_PrintUnformatted(q);
    double bytes = 2;
    if (text != NULL) {
        if (strstr(text, "nvfp4") || strstr(text, "NVFP4") || strstr(text, "mxfp4") ||
            strstr(text, "\"num_bits\":4"))
            bytes = 0.5625;
        else if (strstr(text, "fp8") || strstr(text, "FP8") || strstr(text, "\"num_bits\":8"))
            bytes = 1.01;
    }
    free(text);
    return bytes;
}

static double attention_weights(const cJSON *c, double hidden)
{
    double heads = GET(c, 0, "num_attention_heads");
    double lora = GET(c, 0, "kv_lora_rank");
    if (lora > 0) {
        /* Multi-head latent attention: down and up projections of q and of kv, and the output. */
        double rope = GET(c, 64, "qk_rope_head_dim"), nope = GET(c, 128, "qk_nope_head_dim");
        double v = GET(c, 128, "v_head_dim"), q_lora = GET(c, 0, "q_lora_rank");
        double q = heads * (nope + rope);
        double q_weights = q_lora > 0 ? hidden * q_lora + q_lora * q : hidden * q;
        return q_weights + hidden * (lora + rope) + lora * heads * (nope + v) + heads * v * hidden;
    }
    double head_dim = GET(c, heads > 0 ? hidden / heads : 0, "head_dim");
    double kv_heads = GET(c, heads, "num_key_value_heads");
    return hidden * head_dim * (2 * heads + 2 * kv_heads);
}

static struct qty about(double value)
{
    return (struct qty){
        .value = value, .low = 0.75 * value, .high = 1.25 * value, .set = 1, .assumed = 1};
}

static enum status shape(const struct json_doc *doc, const cJSON **config, double *layers,
                         double *hidden, double *vocab, struct err *err)
{
    *config = doc->root;
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(doc->root, "text_config");
    if (cJSON_IsObject(text))
        *config = text;
    *layers = GET(*config, 0, "num_hidden_layers", "n_layer", "num_layers");
    *hidden = GET(*config, 0, "hidden_size", "n_embd", "d_model");
    *vocab = GET(*config, GET(doc->root, 0, "vocab_size"), "vocab_size");
    if (*layers < 1 || *hidden < 1 || *vocab < 1)
        return json_doc_error(
            doc, doc->root, err,
            "num_hidden_layers, hidden_size and vocab_size were expected: is this a "
            "model's config.json?");
    return STATUS_OK;
}

static void name(char *to, const struct json_doc *doc)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(doc->root, "model_type");
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(doc->root, "_name_or_path");
    const cJSON *from = cJSON_IsString(path) && path->valuestring[0] ? path : type;
    if (cJSON_IsString(from) && strlen(from->valuestring) < SCENARIO_TEXT)
        strcpy(to, from->valuestring);
}

enum status scenario_apply_model_config(struct scenario *s, const struct json_doc *doc,
                                        struct err *err)
{
    const cJSON *c;
    double layers, hidden, vocab;
    enum status status = shape(doc, &c, &layers, &hidden, &vocab, err);
    if (status != STATUS_OK)
        return status;
    double experts = GET(c, 0, "n_routed_experts", "num_local_experts", "num_experts");
    double per_token = GET(c, 0, "num_experts_per_tok", "num_experts_per_token", "moe_topk");
    double inner = GET(c, 4 * hidden, "intermediate_size");
    double expert_inner = GET(c, inner, "moe_intermediate_size");
    double shared = GET(c, 0, "n_shared_experts"),
           dense_layers = GET(c, 0, "first_k_dense_replace");
    double routed = weight_bytes(c);
    /* Engines keep attention, shared experts and head in 16 bits where the experts are quantised.
     */
    double plain = routed < 2 && experts > 0 ? 2 : routed;
    if (experts < 1 || per_token < 1)
        dense_layers = layers;
    s->model.layers = (int)layers;
    s->model.hidden = (int)hidden;
    s->model.vocab = (int)vocab;
    s->model.experts = experts >= 1 && per_token >= 1 ? (int)experts : 0;
    s->model.experts_per_token = s->model.experts > 0 ? (int)per_token : 0;
    double moe_layers = layers - dense_layers;
    double dense = layers * attention_weights(c, hidden) + dense_layers * 3 * hidden * inner +
                   moe_layers * shared * 3 * hidden * expert_inner + vocab * hidden;
    double expert = moe_layers * 3 * hidden * expert_inner;
    s->model.dense_weight_bytes = about(dense * plain);
    if (s->model.experts > 0)
        s->model.expert_weight_bytes = about(expert * routed);
    s->model.weight_bytes =
        about(dense * plain + vocab * hidden * plain + s->model.experts * expert * routed);
    double lora = GET(c, 0, "kv_lora_rank");
    double heads = GET(c, 1, "num_attention_heads");
    double kv = lora > 0 ? lora + GET(c, 64, "qk_rope_head_dim")
                         : 2 * GET(c, heads, "num_key_value_heads") *
                               GET(c, hidden / heads, "head_dim") / (s->ranks > 0 ? s->ranks : 1);
    s->model.kv_bytes_per_token = about(layers * kv * 2);
    name(s->model.name, doc);
    return STATUS_OK;
}

enum status scenario_apply_draft_config(struct scenario *s, const struct json_doc *doc,
                                        struct err *err)
{
    const cJSON *c;
    double layers, hidden, vocab;
    enum status status = shape(doc, &c, &layers, &hidden, &vocab, err);
    if (status != STATUS_OK)
        return status;
    s->draft.layers = (int)layers;
    s->draft.hidden = (int)hidden;
    s->draft.vocab = (int)GET(c, vocab, "draft_vocab_size");
    double inner = GET(c, 4 * hidden, "intermediate_size");
    /* EAGLE-3 adds a fully connected layer that takes three hidden states to one. */
    double weights = layers * (attention_weights(c, hidden) + 3 * hidden * inner) +
                     3 * hidden * hidden + s->draft.vocab * hidden;
    s->draft.weight_bytes = about(weights * weight_bytes(c));
    return STATUS_OK;
}

/* --- Launch commands ------------------------------------------------------------------------- */

enum flag_map { VALUE, METHOD };

static const struct {
    const char *engine, *flag, *key;
    enum flag_map map;
} flags[] = {
#define ENGINE_FLAG(engine, flag, key, map) {engine, flag, key, map},
#include "traces/engine_flags.def"
#undef ENGINE_FLAG
};

static const char *method_name(const char *algorithm)
{
    static const struct {
        const char *theirs, *ours;
    } names[] = {{"EAGLE3", "eagle3"},   {"eagle3", "eagle3"}, {"EAGLE", "eagle"},
                 {"eagle", "eagle"},     {"NEXTN", "mtp"},     {"mtp", "mtp"},
                 {"deepseek_mtp", "mtp"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].theirs, algorithm) == 0)
            return names[i].ours;
    return NULL;
}

static enum status set_method(struct scenario *s, const char *algorithm, struct err *err)
{
    const char *method = method_name(algorithm);
    if (method == NULL)
        return err_set(err, STATUS_USAGE,
                       "speculative algorithm %.60s is not modelled; EAGLE, EAGLE3 and MTP are",
                       algorithm);
    return scenario_set(s, "draft.method", method, err);
}

/* vLLM: --speculative-config '{"method":"eagle3","num_speculative_tokens":3,...}'. */
static enum status speculative_config(struct scenario *s, const char *text, struct err *err)
{
    cJSON *json = cJSON_Parse(text);
    enum status status = STATUS_OK;
    if (!cJSON_IsObject(json)) {
        status = err_set(err, STATUS_USAGE, "a JSON object was expected");
        goto out;
    }
    const cJSON *method = cJSON_GetObjectItemCaseSensitive(json, "method");
    const cJSON *tokens = cJSON_GetObjectItemCaseSensitive(json, "num_speculative_tokens");
    const cJSON *tp = cJSON_GetObjectItemCaseSensitive(json, "draft_tensor_parallel_size");
    if (cJSON_IsString(method))
        status = set_method(s, method->valuestring, err);
    if (status == STATUS_OK && cJSON_IsNumber(tokens))
        status =
            scenario_set_number(s, scenario_key_find("draft.num_steps"), tokens->valuedouble, err);
    if (status == STATUS_OK && cJSON_IsNumber(tp))
        s->draft.tensor_parallel = tp->valuedouble > 1;
out:
    cJSON_Delete(json);
    return status;
}

/* The next word of a command line with shell quotes, into `word`; NULL at the end. */
static const char *next_word(const char *p, char *word, size_t room)
{
    size_t n = 0;
    char quote = '\0';
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\\' || *p == '=')
        p++;
    if (*p == '\0')
        return NULL;
    for (; *p != '\0'; p++) {
        if (quote == '\0' &&
            (*p == ' ' || *p == '\t' || *p == '\n' || (*p == '=' && word[0] == '-')))
            break;
        if (quote == '\0' && (*p == '\'' || *p == '"'))
            quote = *p;
        else if (quote != '\0' && *p == quote)
            quote = '\0';
        else if (n + 1 < room)
            word[n++] = *p;
        word[n] = '\0';
    }
    word[n] = '\0';
    return p;
}

enum status scenario_apply_engine_flags(struct scenario *s, const char *command, struct err *err)
{
    char word[1024], value[1024];
    if (strstr(command, "sglang") != NULL)
        strcpy(s->engine.name, "sglang");
    else if (strstr(command, "vllm") != NULL)
        strcpy(s->engine.name, "vllm");
    else if (strstr(command, "trtllm") != NULL)
        strcpy(s->engine.name, "tensorrt-llm");
    const char *p = command;
    word[0] = '\0';
    while ((p = next_word(p, word, sizeof word)) != NULL) {
        enum status status = STATUS_OK;
        int config = strcmp(word, "--speculative-config") == 0;
        size_t f = 0;
        while (f < sizeof flags / sizeof flags[0] &&
               (strcmp(flags[f].flag, word) != 0 ||
                (s->engine.name[0] != '\0' && strcmp(flags[f].engine, s->engine.name) != 0)))
            f++;
        if (config || f < sizeof flags / sizeof flags[0]) {
            value[0] = '\0';
            p = next_word(p, value, sizeof value);
            if (p == NULL)
                return err_set(err, STATUS_USAGE, "%s needs a value", word);
            if (config)
                status = speculative_config(s, value, err);
            else if (flags[f].map == METHOD)
                status = set_method(s, value, err);
            else
                status = scenario_set(s, flags[f].key, value, err);
            if (status != STATUS_OK) {
                err_prefix(err, "%s", word);
                return status;
            }
        }
        word[0] = '\0';
    }
    if (s->draft.num_steps > 0 && strcmp(s->draft.method, "none") == 0)
        strcpy(s->draft.method, "eagle3");
    return STATUS_OK;
}
