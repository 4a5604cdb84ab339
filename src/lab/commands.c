#include "lab/commands.h"

#include "base/attributes.h"

const bl_lab_command bl_lab_commands[] = {
    {"sweep", "measure a training command over batch sizes (and other factors)", true, bl_cmd_sweep},
    {"compare", "decide whether batch sizes, or two commands, differ in speed", true, bl_cmd_compare},
    {"selftest", "show how small a difference this machine resolves", true, bl_cmd_selftest},
    {"max", "find the largest batch size that fits, and how memory grows", true, bl_cmd_max},
    {"run", "carry out a study that is written down in a file", true, bl_cmd_run},
    {"list", "list the stored experiments", false, bl_cmd_list},
    {"show", "show an experiment's table, plot and verdict", false, bl_cmd_show},
    {"report", "write a web page, or a picture, about experiments", false, bl_cmd_report},
    {"export", "write an experiment as CSV, JSON or Markdown", false, bl_cmd_export},
    {"explain", "predict what batch sizes cost on a device, from shapes alone", false, bl_cmd_explain},
    {"tune", "tell which batch size reaches a target soonest, from stored experiments", false, bl_cmd_tune},
    {"doctor", "say what can be measured here, and what makes figures doubtful", false, bl_cmd_doctor},
    {"gemm", "measure products of matrices over the batch's dimension", true, bl_cmd_gemm},
    {"import", "store experiments from files: JSON, hyperfine's JSON, CSV", false, bl_cmd_import},
    {"merge", "copy the experiments of databases into another", false, bl_cmd_merge},
    {"delete", "delete an experiment", false, bl_cmd_delete},
};

const size_t bl_lab_n_commands = BL_ARRAY_LEN(bl_lab_commands);
