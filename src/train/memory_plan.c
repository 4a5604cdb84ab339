#include "train/memory_plan.h"

#include <stdlib.h>
#include <string.h>

#define MIB(bytes) ((double)(bytes) / (1 << 20))

static size_t status_field_b(const char *field)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    size_t kib = 0, length = strlen(field);
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, length) == 0)
            kib = strtoull(line + length, NULL, 10);
    if (file)
        fclose(file);
    return kib << 10;
}

size_t bl_memory_resident_b(void)
{
    return status_field_b("VmRSS:");
}

size_t bl_memory_peak_b(void)
{
    return status_field_b("VmHWM:");
}

void bl_memory_plan_make(const bl_trainer *t, size_t before_b, bl_memory_plan *out)
{
    const bl_exec_memory *memory = bl_exec_memory_info(t->exec);
    size_t gradients_b = (size_t)bl_params_slab_count(t->params) * sizeof(float);
    *out = (bl_memory_plan){.weights_b = memory->params_b - gradients_b + memory->weights_b,
                            .gradients_b = gradients_b,
                            .optimizer_b = bl_optim_bytes(t->optim),
                            .average_b = t->ema ? bl_ema_bytes(t->ema) : 0,
                            .slab_b = memory->slab_b,
                            .batches_b = bl_loader_bytes(t->loader)};
    /* Making the trainer ready fills the table and the optimizer's state; the slab is not touched yet. */
    size_t filled_b = memory->params_b + out->optimizer_b + out->average_b, now_b = bl_memory_resident_b();
    out->program_b = now_b > before_b + filled_b ? now_b - filled_b : before_b;
    out->total_b = out->program_b + out->weights_b + out->gradients_b + out->optimizer_b + out->average_b +
                   out->slab_b + out->batches_b;
}

static void line(FILE *out, const char *what, size_t bytes, const char *remark)
{
    fprintf(out, "  %-30s %10.1f MiB%s%s\n", what, MIB(bytes), remark[0] ? "  " : "", remark);
}

void bl_memory_plan_print(const bl_trainer *t, const bl_memory_plan *plan, FILE *out)
{
    const bl_exec_memory *m = bl_exec_memory_info(t->exec);
    fprintf(out, "%s, batch %lld, %lld x %lld: planned memory\n", t->options->model->name, (long long)t->options->batch,
            (long long)t->options->image_size, (long long)t->options->image_size);
    line(out, "weights and buffers", plan->weights_b, "");
    line(out, "gradients of weights", plan->gradients_b, "");
    line(out, "optimizer", plan->optimizer_b, "");
    if (plan->average_b > 0)
        line(out, "averaged weights", plan->average_b, "");
    line(out, "activations", m->activations_b, "at the step's fullest moment, as the next two");
    line(out, "gradients of activations", m->gradients_b, "");
    line(out, "workspace", m->workspace_b, "");
    line(out, "gaps", m->slab_b - m->lower_bound_b, "between them: what the plan takes beyond what is live");
    line(out, "batches", plan->batches_b, "");
    line(out, "program and libraries", plan->program_b, "measured now");
    line(out, "in all", plan->total_b, "");
    fprintf(
        out,
        "The slab of the middle four takes %.1f MiB, %.1f %% above the %.1f MiB that are live at once, which no plan "
        "can undercut;\nwithout reuse it would take %.1f MiB.\n",
        MIB(m->slab_b), m->lower_bound_b > 0 ? 100 * ((double)m->slab_b / (double)m->lower_bound_b - 1) : 0,
        MIB(m->lower_bound_b), MIB(m->naive_b));
}
