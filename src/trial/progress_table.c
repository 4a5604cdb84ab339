/* The formats. Earlier rows win. A new one: a row here, a line in tests/trial/progress_cases.c. */
#include "base/attributes.h"
#include "trial/progress_formats.h"

#define NUMBER "[0-9](?:[0-9.,_']*[0-9])?[kKMGT]?"
#define DONE   "(?<done>" NUMBER ")"
#define TOTAL  "(?<total>" NUMBER ")"
#define RATE   "(?<rate>[0-9][0-9.,]*) ?(?<unit>[kKMGT]?i?[A-Za-z]{1,12}/s|(?:[mu\xc2\xb5]*s)/[A-Za-z]{1,12})"
#define CLOCK  "[0-9?][0-9:.]*"

const bl_progress_format bl_progress_table[] = {
    /* tqdm, and what is built on it: Lightning, the HF trainer, YOLOv5 and v7, fastai */
    {"tqdm", "%|",
     "^(?<label>.*?)[0-9.]+% ?\\|[^|]*\\| *" DONE "/" TOTAL " *\\[(?: *" CLOCK "<" CLOCK "[^,\\]]*,? *(?:" RATE ")?)?",
     false, false},
    {"tqdm", "[", "^(?<label>.*?)" DONE " ?(?:it|ex|examples|steps?|batch(?:es)?|iters?) \\[" CLOCK ", *(?:" RATE ")?",
     false, false},
    {"ultralytics", "%",
     "^(?<label>.*?)[0-9.]+%:? +[^\\s0-9|]+ *" DONE "/" TOTAL " +(?:" RATE " +)?[0-9][0-9.:]*s?(?:<[0-9.:]+s?)?", false,
     false},
    {"rich", ":",
     "^(?<label>.*?)(?:[\\x80-\\xff]{3,}[ \\x80-\\xff]*|[-#=]{4,}) *(?:[0-9.]+% +)?" DONE "/" TOTAL
     " +[0-9]+:[0-9][0-9:]*(?: +\\S+ +[-0-9:]+)?(?: +" RATE ")?",
     false, false},
    {"keras", "/",
     "^ *" DONE "/(?:" TOTAL "|Unknown) *(?:\\[[=>. ]*\\]|[\\x80-\\xff]+)? *(?:- )?(?:ETA: *[0-9:]+s?|[0-9]+s|[0-9:]+)"
     "(?: +" RATE ")?(?= |$)",
     false, false},

    /* lines of log files */
    {"mnist", "Epoch", "^(?<label>.*?\\bTrain Epoch): *[0-9]+ *\\[" DONE "/" TOTAL, false, true},
    {"timm", "%)]",
     "^(?<label>.*?)[: ](?:[0-9]+)? *\\[ *" DONE "/" TOTAL " *\\( *[0-9.]+%\\)\\](?:.*?\\bTime: *(?<s>[0-9.]+)s?)?",
     false, false},
    {"mmengine", "(",
     "(?<label>\\b(?:Epoch|Iter)\\([a-z]+\\)) *(?:\\[ *[0-9]+\\] *)?\\[ *" DONE "/ *" TOTAL
     "\\](?:.*?\\btime: *(?<s>[0-9.]+))?",
     false, false},
    {"paddle", "[Iter:",
     "\\[(?<label>[A-Za-z]+)\\]\\[Epoch *[0-9/]+\\]\\[Iter: *" DONE "/" TOTAL
     "\\](?:.*?\\bbatch_cost: *(?<s>[0-9.]+))?",
     false, false},
    {"torchvision", "[",
     "^(?<label>.*?\\bEpoch)\\b:? *\\[ *[0-9]+(?:/[0-9]+)?\\] *\\[ *" DONE "/ *" TOTAL
     "\\](?:.*?\\b[Tt]ime:? *(?<s>[0-9.]+))?",
     false, false},
    {"torchvision", "[",
     "^(?<label>(?:[A-Za-z][\\w ]*)): +\\[ *" DONE "/ *" TOTAL "\\](?:.*?\\b[Tt]ime:? *(?<s>[0-9.]+))?", false, false},
    {"detectron2", "iter:", "\\biter: *" DONE "\\b.*?\\bloss\\w*:(?:.*?\\btime: *(?<s>[0-9.]+))?", false, false},
    {"detectron2", "iter:", "\\biter: *" DONE "\\b.*?\\w+_loss:(?:.*?\\btime: *(?<s>[0-9.]+))?", false, false},
    {"darknet", " images",
     "^ *" DONE
     "(?:, *[0-9.]+)?: *[-0-9.naif]+, *[-0-9.naif]+ avg(?: loss)?, *[-0-9.e]+ rate, *(?<s>[0-9.]+) seconds, *"
     "(?<samples>[0-9]+) images",
     false, false},
    {"llm.c", "|", "^ *step +" DONE "/" TOTAL " *\\|(?:.*?\\| *(?<ms>[0-9.]+) *ms)?", false, false},
    {"nanogpt", "loss", "^ *(?:iter|step) +" DONE ": .*?\\bloss\\b.*?\\b(?:time|took) +(?<ms>[0-9.]+) *ms", false,
     false},
    {"torchtitan", "step:", "\\bstep: *" DONE "\\b.*?\\bloss: *[-0-9.naif]+", false, false},
    {"hf trainer", "train_runtime", "'train_runtime': *'?[0-9.]+.*'train_steps_per_second': *'?(?<rate>[0-9.]+)", false,
     false},

    /* what anybody may write */
    {"counter", "/", "(?i)^(?<label>.*?)\\b(?:step|iter|iteration|batch|it)\\b[ :=#\\[(]*" DONE " */ *" TOTAL "\\b",
     true, false},
    {"counter", " of ", "(?i)^(?<label>.*?)\\b(?:step|iter|iteration|batch)\\b[ :=#]*" DONE " of " TOTAL "\\b", true,
     false},
    {"counter", "oss", "(?i)^(?<label>.*?)\\b(?:step|global_step|iter|iteration)\\b\\]?[ :=#\\[]*" DONE "\\b.*loss",
     true, false},
    {"counter", "oss", "(?i)^(?<label>.*?)\\[ *" DONE " */ *" TOTAL " *\\].*loss", true, false},
};

const size_t bl_n_progress_table = BL_ARRAY_LEN(bl_progress_table);
