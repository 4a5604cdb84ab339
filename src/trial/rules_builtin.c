/* The table of messages. What is matched is the kind of words, not one version's wording: sizes, addresses, ranks and
 * library prefixes vary. Add a row for what is missing, and a line to tests/trial/messages.c. */
#include "base/attributes.h"
#include "trial/rules.h"

/* Libraries of the accelerators' makers, whose status names have one form. */
#define LIBRARIES "(?:CUDA|CUDNN|CUBLAS|CUBLASLT|CUSOLVER|CUSPARSE|CUFFT|CURAND|MIOPEN|HIPBLAS|ROCBLAS|HIPFFT)"
#define DEVICES   "(?:CUDA|HIP|ROCm|MPS backend|MPS|XPU|SYCL|NPU|MLU|MUSA|HPU|GPU|VRAM|device)"

const bl_builtin_rule bl_builtin_rules[] = {
    {BL_MESSAGE_NONE, "TensorFlow", "(?i)the caller indicates that this is not a failure"},

    {BL_MESSAGE_SHARED_OOM, "shared memory", "(?i)insufficient shared memory"},
    {BL_MESSAGE_SHARED_OOM, "shared memory",
     "(?i)(?:shared memory|/dev/shm|\\bshm\\b).{0,200}(?:no space left|too small|not enough|is full|increase)"},
    {BL_MESSAGE_SHARED_OOM, "shared memory", "(?i)no space left.{0,120}(?:/dev/shm|/torch_|shared memory)"},
    {BL_MESSAGE_SHARED_OOM, "data-loader worker", "(?i)bus error .{0,40}worker"},

    {BL_MESSAGE_DEVICE_OOM, "accelerator runtime",
     "(?i)\\b" DEVICES "(?: driver| runtime)?(?:[ _]error)?[ :]+(?:is )?out of memory"},
    {BL_MESSAGE_DEVICE_OOM, "accelerator runtime",
     "(?i)\\[?\\b" DEVICES " error\\b.{0,200}(?:\\n.{0,80})?out of memory"},
    {BL_MESSAGE_DEVICE_OOM, "accelerator runtime",
     "(?i)(?:cuda|hip)_?error_?(?:out_?of_?memory|memory_?allocation)|(?:cuda|hip)(?:Malloc|HostAlloc)\\w*\\b.{0,60}"
     "(?:failed|out of memory)"},
    {BL_MESSAGE_DEVICE_OOM, "accelerator library", "\\b" LIBRARIES "_STATUS_(?:ALLOC_FAILED|MEMORY_ERROR)"},
    {BL_MESSAGE_DEVICE_OOM, "cuDNN, no algorithm fits",
     "(?i)unable to find a valid (?:cudnn|miopen) algorithm|no (?:cudnn|miopen) algorithm .{0,40}memory"},
    {BL_MESSAGE_DEVICE_OOM, "PyTorch", "(?<!java\\.lang\\.)\\bOutOfMemoryError\\b"},
    {BL_MESSAGE_DEVICE_OOM, "TensorFlow", "OOM when allocating"},
    {BL_MESSAGE_DEVICE_OOM, "XLA",
     "(?:RESOURCE_EXHAUSTED|Resource ?[Ee]xhausted).{0,300}(?i:out of memory|oom\\b|allocat|memory)"},
    {BL_MESSAGE_DEVICE_OOM, "accelerator",
     "(?i)(?:fail\\w*|unable|cannot|could not|can't)(?: to)? allocate.{0,60}\\b(?:device|gpu|cuda|vram)\\b"},
    {BL_MESSAGE_DEVICE_OOM, "accelerator",
     "(?i)(?:not enough|insufficient|exhausted).{0,20}\\b(?:(?:gpu|device|cuda|video) (?:memory|ram)|vram)\\b"},
    {BL_MESSAGE_DEVICE_OOM, "OpenCL, Vulkan",
     "CL_MEM_OBJECT_ALLOCATION_FAILURE|CL_OUT_OF_RESOURCES|(?i:ErrorOutOfDeviceMemory|ERROR_OUT_OF_DEVICE_MEMORY)"},

    {BL_MESSAGE_HOST_OOM, "PyTorch",
     "(?i)cpu_?allocator\\b.{0,40}(?:can't allocate|cannot allocate|not enough) memory"},
    {BL_MESSAGE_HOST_OOM, "Python",
     "^(?:\\[[^\\]\\n]{0,40}\\]:? *)?(?:[A-Za-z_][\\w.]{0,60}\\.)?(?:_Array)?MemoryError\\b *(?::|$)"},
    {BL_MESSAGE_HOST_OOM, "NumPy", "(?i)unable to allocate [0-9.]+ ?[kmgtp]i?b\\b"},
    {BL_MESSAGE_HOST_OOM, "C++", "std::bad_alloc"},
    {BL_MESSAGE_HOST_OOM, "Rust", "memory allocation of [0-9]+ bytes failed"},
    {BL_MESSAGE_HOST_OOM, "Java", "java\\.lang\\.OutOfMemoryError"},
    {BL_MESSAGE_HOST_OOM, "data-loader worker", "(?i)worker.{0,60}killed by signal: (?:killed|9)"},
    {BL_MESSAGE_HOST_OOM, "kernel", "(?i)\\b(?:cgroup )?out of memory: kill(?:ed)?\\b"},
    {BL_MESSAGE_HOST_OOM, "kernel or job scheduler", "(?i)\\boom[-_ ]?kill(?:ed|er)?\\b"},
    {BL_MESSAGE_HOST_OOM, "job scheduler", "(?i)exceeded .{0,30}memory limit"},
    {BL_MESSAGE_HOST_OOM, "C library", "(?i)cannot allocate memory|\\bENOMEM\\b"},
    {BL_MESSAGE_HOST_OOM, "C library",
     "(?i)\\b(?:[mc]|re)alloc\\w*\\b.{0,60}(?:failed|out of memory)|"
     "\\b(?:failed to|could not|cannot) allocate [0-9.]+ ?(?:bytes|[kmgt]i?b)\\b"},
    {BL_MESSAGE_HOST_OOM, "oneDNN",
     "(?i)\\bdnnl_out_of_memory\\b|could not (?:create|allocate) a memory (?:object|storage)"},
    {BL_MESSAGE_HOST_OOM, "program",
     "(?i)\\b(?:error|fatal|abort\\w*|exception|panic)\\b.{0,80}\\bout of memory\\b|"
     "^\\s*out of memory[.!]?\\s*$"},

    {BL_MESSAGE_LIMIT, "CUDA",
     "(?i)invalid configuration argument|too many resources requested for launch|too many "
     "blocks in cooperative launch"},
    {BL_MESSAGE_LIMIT, "index width",
     "(?i)32[- ]?bit index|canUse32BitIndexMath|(?:int32|INT_MAX|2\\^31).{0,60}"
     "(?:overflow|exceed|too large|limit)|tensor.{0,20}too (?:large|many elements)"},
    {BL_MESSAGE_LIMIT, "BatchNorm", "(?i)expected more than 1 (?:spatial |)(?:value|element)s? per channel"},
    {BL_MESSAGE_LIMIT, "batch size",
     "(?i)(?:error|exception|fatal|assert\\w*|abort\\w*|invalid)\\b.{0,120}\\bbatch[-_ ]?size\\b.{0,120}(?:must|should|"
     "too (?:large|small|big)|cannot|can't|not divisible|exceed|(?:larg|great|small)er than|at (?:least|most)|multiple "
     "of|unsupported|not supported|invalid)"},
    {BL_MESSAGE_LIMIT, "batch size",
     "(?i)(?:error|exception|fatal|assert\\w*|abort\\w*|invalid)\\b.{0,120}(?:(?:larg|small)er than|exceeds?|not "
     "divisible "
     "by|divisible by)\\b.{0,60}\\b(?:batch[-_ ]?size|batch|dataset|number of samples)\\b"},

    {BL_MESSAGE_CRASH, "accelerator runtime",
     "(?i)illegal (?:memory access|address|instruction)|misaligned address|device-side assert|uncorrectable ecc|"
     "hardware exception|memory access fault by gpu"},

    {BL_MESSAGE_AMBIGUOUS, "accelerator library",
     "\\b" LIBRARIES
     "_STATUS_(?:EXECUTION_FAILED|NOT_SUPPORTED|INTERNAL_ERROR|NOT_INITIALIZED|MAPPING_ERROR|UNKNOWN_ERROR|"
     "BAD_PARAM|INVALID_VALUE)"},
    {BL_MESSAGE_AMBIGUOUS, "accelerator library", "(?i)unable to find an engine to execute"},
    {BL_MESSAGE_AMBIGUOUS, "accelerator runtime",
     "(?i)(?:cuda|hip) error: (?:unspecified launch failure|unknown error|initialization error|launch timed out)"},
    {BL_MESSAGE_AMBIGUOUS, "process launcher",
     "(?i)signal 9 \\(SIGKILL\\)|exit ?code *:? *-9\\b|terminated with signal:? (?:9|SIGKILL)|on signal 9 "
     "\\(killed\\)"},

    {BL_MESSAGE_TIMEOUT, "collective operation",
     "(?i)\\b(?:watchdog|collective|nccl|rccl|gloo|all_?reduce|barrier|rendezvous)\\b.{0,160}(?:time[d-]? ?out)"},
    {BL_MESSAGE_TIMEOUT, "data loader", "(?i)dataloader timed out"},
    {BL_MESSAGE_TIMEOUT, "job scheduler", "(?i)due to time limit"},

    {BL_MESSAGE_CRASH, "program",
     "(?i)segmentation fault|double free|corrupted (?:size|double-linked|unsorted)|(?:free|malloc)\\(\\): "
     "invalid|stack "
     "smashing|core dumped"},
};

const size_t bl_n_builtin_rules = BL_ARRAY_LEN(bl_builtin_rules);
