#include "messages.h"

#include "base/attributes.h"

#define DEVICE BL_MESSAGE_DEVICE_OOM
#define HOST   BL_MESSAGE_HOST_OOM
#define SHARED BL_MESSAGE_SHARED_OOM
#define LIMIT  BL_MESSAGE_LIMIT
#define CRASH  BL_MESSAGE_CRASH
#define AMBIG  BL_MESSAGE_AMBIGUOUS
#define TIME   BL_MESSAGE_TIMEOUT
#define NONE   BL_MESSAGE_NONE

const message_case message_cases[] = {
    /* accelerators */
    {DEVICE,
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU 1 has a total capacity of 15 GiB"},
    {DEVICE, "RuntimeError: CUDA out of memory. Tried to allocate 98.00 MiB (GPU 3; 7.43 GiB total capacity)"},
    {DEVICE, "[rank3]: torch.cuda.OutOfMemoryError: allocation on device 3 refused"},
    {DEVICE, "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"},
    {DEVICE, "error 2: cuda driver error: out of memory"},
    {DEVICE, "RuntimeError: HIP error: out of memory"},
    {DEVICE, "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.25 GiB"},
    {DEVICE, "RuntimeError: MPS backend out of memory (MPS allocated: 17.9 GiB)"},
    {DEVICE, "RuntimeError: NPU out of memory. Tried to allocate 20.00 MiB"},
    {DEVICE, "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"},
    {DEVICE, "cublas call failed: CUBLAS_STATUS_ALLOC_FAILED in gemm.cc"},
    {DEVICE, "rocBLAS error: ROCBLAS_STATUS_MEMORY_ERROR"},
    {DEVICE, "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution"},
    {DEVICE, "Resource exhausted: OOM when allocating tensor with shape[8,64,112,112] and type half on /device:GPU:0"},
    {DEVICE, "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 512.0MiB on device ordinal 0"},
    {DEVICE, "INTERNAL: RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes."},
    {DEVICE, "CUDA Error: out of memory"},
    {DEVICE, "[CUDA ERROR] at file gpt.cu:1234:\nout of memory"},
    {DEVICE, "ggml_cuda: cudaMalloc failed: out of memory"},
    {DEVICE, "cudaErrorMemoryAllocation: out of memory"},
    {DEVICE, "thrust::system::detail::bad_alloc: std::bad_alloc: cudaErrorMemoryAllocation: out of memory"},
    {DEVICE, "CUDA_ERROR_OUT_OF_MEMORY"},
    {DEVICE, "Error: could not allocate 2.1 GB on the GPU"},
    {DEVICE, "Not enough GPU memory for a batch of 512"},
    {DEVICE, "vk::Device::allocateMemory: ErrorOutOfDeviceMemory"},
    /* the machine */
    {HOST, "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
           "allocate 8 bytes."},
    {HOST, "RuntimeError: [enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."},
    {HOST, "Traceback (most recent call last):\n  x = MemoryErrors\nMemoryError"},
    {HOST, "[rank0]: MemoryError: Unable to allocate"},
    {HOST,
     "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB for an array with shape (100000, 100000)"},
    {HOST, "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc"},
    {HOST, "memory allocation of 8589934592 bytes failed"},
    {HOST, "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space"},
    {HOST, "RuntimeError: DataLoader worker (pid(s) 991, 992) is killed by signal: Killed."},
    {HOST, "[12.5] Out of memory: Killed process 77 (train) total-vm:9kB"},
    {HOST, "slurmstepd: error: Detected 3 oom_kill events in StepId=12.0."},
    {HOST, "slurmstepd: error: Exceeded job memory limit"},
    {HOST, "OSError: [Errno 12] Cannot allocate memory"},
    {HOST, "fatal: malloc of 1073741824 bytes failed"},
    {HOST, "error: out of memory"},
    {HOST, "train: dnnl_out_of_memory"},
    /* /dev/shm */
    {SHARED, "RuntimeError: unable to open shared memory object </torch_1_2_3> in read-write mode: No space left on "
             "device (28)"},
    {SHARED, "This might be caused by insufficient shared memory (shm)."},
    {SHARED,
     "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's "
     "workers are out of shared memory. Please try to raise your shared memory limit. ERROR: Unexpected bus error "
     "encountered in worker."},
    {SHARED, "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9): no space left on device"},
    /* sizes */
    {LIMIT, "RuntimeError: CUDA error: invalid configuration argument"},
    {LIMIT, "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 32])"},
    {LIMIT, "ValueError: Expected more than 1 spatial element per channel"},
    {LIMIT, "RuntimeError: input tensor must fit into 32-bit index math"},
    {LIMIT, "AssertionError: batch_size 30 must be divisible by the number of GPUs 4"},
    {LIMIT, "ValueError: batch size 9000 is larger than the dataset"},
    {LIMIT, "error: --batch-size too large"},
    {LIMIT, "RuntimeError: CUDA error: too many resources requested for launch"},
    /* neither */
    {CRASH, "RuntimeError: CUDA error: an illegal memory access was encountered"},
    {CRASH, "RuntimeError: CUDA error: device-side assert triggered"},
    {CRASH, "CUDA error: misaligned address"},
    {CRASH, "train.sh: line 3: 12345 Segmentation fault (core dumped) ./train"},
    {CRASH, "free(): invalid pointer"},
    {AMBIG, "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"},
    {AMBIG, "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a "
            "non-contiguous input."},
    {AMBIG, "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"},
    {AMBIG, "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR"},
    {AMBIG, "GET was unable to find an engine to execute this computation"},
    {AMBIG, "CUDA error: unspecified launch failure"},
    {AMBIG, "  exitcode  : -9 (pid: 4711)"},
    {AMBIG, "Signal 9 (SIGKILL) received by PID 4711"},
    {TIME, "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=BROADCAST)"},
    {TIME, "RuntimeError: DataLoader timed out after 30 seconds"},
    {TIME, "RuntimeError: [gloo] Timed out waiting 1800000ms for recv operation to complete"},
    {TIME, "slurmstepd: error: *** JOB 3 ON n1 CANCELLED AT 2024-01-01 DUE TO TIME LIMIT ***"},
    {NONE, "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.1GiB. The caller indicates that this is not a "
           "failure, but may mean that there could be performance gains"},
    {NONE, "out of memory is a state of mind"},
    {NONE, "raise MyMemoryErrors\n"},
    {NONE, "class OutOfMemoryErrors"},
    {NONE, "[CUDA ERROR] at file a.cu:9:\ninvalid argument"},
    {NONE, "Using batch_size=64; it should be a multiple of 8 for the best speed"},
    {NONE, "max memory allocated: 12.1 GiB on cuda:0"},
    {NONE, "KeyError: 'labels'"},
    {NONE, ""},
};

const size_t n_message_cases = BL_ARRAY_LEN(message_cases);
