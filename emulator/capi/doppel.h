// doppel's C interface: runs one GPU kernel on the CPU, without driver, queue or device.
//
// Thread safety: calls are independent; any thread may call at any time. Nothing is retained after
// a call returns. Nothing throws and nothing is printed, except that run_asm() prints its faults.
//
// Ordering: a call returns when the last wave of the grid has ended; all its stores have then
// reached the memory of the ranges.
#ifndef DOPPEL_H_
#define DOPPEL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DOPPEL_API __attribute__((visibility("default")))
#else
#define DOPPEL_API
#endif

// What became of a call.
typedef enum doppel_result {
  DOPPEL_OK = 0,
  DOPPEL_INVALID_ARGUMENT = 1,  // the launch makes no sense; the report says why
  DOPPEL_MALFORMED_CODE = 2,    // the code object does not parse, or lacks the kernel
  DOPPEL_FAULT = 3,             // the kernel did something wrong; the report says what and where
  DOPPEL_BUDGET_EXCEEDED = 4,   // the kernel ran longer than instruction_budget
  DOPPEL_OUT_OF_MEMORY = 5
} doppel_result;

// What a kernel may do to a range: bits of doppel_range.access.
enum { DOPPEL_READ = 1, DOPPEL_WRITE = 2, DOPPEL_EXECUTE = 4 };

// Memory that a kernel may reach, to the byte: anything else faults.
typedef struct doppel_range {
  uint64_t address;  // where the kernel sees it; below 2^47. Ranges do not overlap.
  void* host;        // the memory; must stay valid during the call
  uint64_t size;     // bytes, not 0
  uint32_t access;   // DOPPEL_READ, DOPPEL_WRITE, DOPPEL_EXECUTE
  uint32_t reserved;
} doppel_range;

typedef enum doppel_code_kind {
  // An ELF code object, linked or relocatable; registers and sizes come from the kernel's
  // descriptor, user SGPRs are set up as it asks.
  DOPPEL_CODE_OBJECT = 0,
  // Machine code that begins with the kernel's first instruction.
  DOPPEL_CODE_RAW = 1
} doppel_code_kind;

// One launch. Zero-initialise it, set struct_size, then what is needed.
typedef struct doppel_launch {
  size_t struct_size;  // sizeof(doppel_launch)

  const char* target;  // "gfx1100". May be NULL for a code object, which names its own.
  uint32_t code_kind;  // a doppel_code_kind
  const void* code;
  size_t code_size;    // bytes
  const char* kernel;  // code objects: its name; NULL if there is only one

  uint32_t grid[3];       // workgroups, each at least 1
  uint32_t workgroup[3];  // work-items, each at least 1

  // Code objects: address of the kernarg segment, in a range that may be read; 0 if none.
  uint64_t kernarg;
  // Raw code: initial user SGPRs, as many as rsrc2 asks for; the others are 0.
  uint32_t user_data[16];

  // Raw code: COMPUTE_PGM_RSRC1..3 as the hardware takes them, and the lanes of a wave (32 or 64;
  // 0 means 32). Ignored for code objects.
  uint32_t rsrc1, rsrc2, rsrc3;
  uint32_t wave_size;

  // Bytes of LDS a workgroup gets: all of it for raw code, beyond the static part for a code
  // object (dynamic shared memory).
  uint32_t lds_bytes;
  // Bytes of scratch memory a work-item gets; for a code object the descriptor's size counts if
  // it is larger.
  uint32_t scratch_bytes_per_lane;

  const doppel_range* ranges;
  size_t range_count;

  uint64_t instruction_budget;  // wave-instructions the grid may execute; 0 means 2^40
  uint32_t workers;             // host threads that run workgroups; 0 means 1

  // Filled on any result but DOPPEL_OK if not NULL: text, cut to fit, always terminated.
  char* report;
  size_t report_size;

  // Filled on DOPPEL_OK.
  uint64_t wave_instructions;
  uint64_t waves;
} doppel_launch;

// Runs the launch to its end.
DOPPEL_API doppel_result doppel_run_kernel(doppel_launch* launch);

// The entry point of programs that load the interpreter "remu": runs raw gfx1100 code (wave32) on
// the process's own memory, trusting every pointer. `code` and the pointers in `kernarg` are host
// addresses; g* count workgroups, l* the work-items of one; s[0:1] = kernarg. A workgroup gets
// 64 KiB of LDS, a work-item 64 KiB of scratch and 256 VGPRs.
//
// The environment gives MODE and the number of user SGPRs: DOPPEL_RUN_ASM_RSRC1 and
// DOPPEL_RUN_ASM_RSRC2 (hexadecimal COMPUTE_PGM_RSRC1 and 2). By default they are what LLVM's
// kernels use: f32, f16 and f64 denormals kept, IEEE and DX10_CLAMP on; the workgroup ids x, y, z
// begin behind 15, 14 or 13 user SGPRs for a grid of 1, 2 or 3 dimensions.
//
// Returns 0, or 1 after printing the fault to stderr.
DOPPEL_API int run_asm(const char* code, uint32_t code_len, uint32_t gx, uint32_t gy, uint32_t gz,
                       uint32_t lx, uint32_t ly, uint32_t lz, const uint64_t* kernarg);

#ifdef __cplusplus
}
#endif

#endif  // DOPPEL_H_
