// Loads libdoppel.so as a C program would, and runs a kernel through both entry points.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/capi/doppel.h"

// out[i] = workgroup << 8 | i, for gfx1100; the workgroup id comes behind 15 user SGPRs.
static const uint32_t kCode[] = {
    0xf4040100, 0xf8000000,  // s_load_b64 s[4:5], s[0:1], 0x0
    0x360200ff, 0x000003ff,  // v_and_b32 v1, 0x3ff, v0
    0x30040282,              // v_lshlrev_b32 v2, 2, v1
    0xbf89fc07,              // s_waitcnt lgkmcnt(0)
    0xd6460001, 0x0405100f,  // v_lshl_add_u32 v1, s15, 8, v1
    0xdc6a0000, 0x00040102,  // global_store_b32 v2, v1, s[4:5]
    0xbfb00000,              // s_endpgm
};

enum { kLanes = 64 };

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "failed: %s\n", what);
  ++failures;
}

typedef int (*run_asm_function)(const char*, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                uint32_t, uint32_t, const uint64_t*);
typedef doppel_result (*run_kernel_function)(doppel_launch*);

// A data pointer from dlsym as a function pointer, as POSIX means it.
static void load(void* library, const char* name, void* function) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "%s is missing: %s\n", name, dlerror());
    exit(1);
  }
  memcpy(function, &symbol, sizeof symbol);
}

static void test_run_asm(run_asm_function run_asm) {
  uint32_t out[kLanes] = {0};
  uint64_t kernarg[1];
  kernarg[0] = (uint64_t)(uintptr_t)out;
  int status = run_asm((const char*)kCode, sizeof kCode, 1, 1, 1, kLanes, 1, 1, kernarg);
  expect(status == 0, "run_asm succeeds");
  for (uint32_t i = 0; i < kLanes; ++i) expect(out[i] == i, "run_asm stores the lane");

  const uint32_t illegal[] = {0xffffffff};
  expect(run_asm((const char*)illegal, 4, 1, 1, 1, 1, 1, 1, kernarg) != 0,
         "run_asm reports faults");
  expect(run_asm(NULL, 4, 1, 1, 1, 1, 1, 1, kernarg) != 0, "run_asm refuses null code");

  // s_endpgm after reading RSRC1's VGPRs is not observable; a malformed number is.
  setenv("DOPPEL_RUN_ASM_RSRC1", "xyz", 1);
  expect(run_asm((const char*)kCode, sizeof kCode, 1, 1, 1, 1, 1, 1, kernarg) != 0,
         "run_asm refuses a malformed RSRC1");
  unsetenv("DOPPEL_RUN_ASM_RSRC1");
  // With 14 user SGPRs and two ids, s15 is the workgroup's y.
  setenv("DOPPEL_RUN_ASM_RSRC2", "0x99c", 1);
  expect(run_asm((const char*)kCode, sizeof kCode, 3, 1, 1, 1, 1, 1, kernarg) == 0, "run_asm");
  expect(out[0] == 0, "RSRC2 moves the workgroup id");
  unsetenv("DOPPEL_RUN_ASM_RSRC2");
}

static void test_run_kernel(run_kernel_function run_kernel) {
  uint32_t out[kLanes] = {0};
  uint64_t kernarg[1] = {0x500000000};
  char report[512] = "";
  doppel_range ranges[2];
  memset(ranges, 0, sizeof ranges);
  ranges[0].address = kernarg[0];
  ranges[0].host = out;
  ranges[0].size = sizeof out;
  ranges[0].access = DOPPEL_READ | DOPPEL_WRITE;
  ranges[1].address = 0x600000000;
  ranges[1].host = kernarg;
  ranges[1].size = sizeof kernarg;
  ranges[1].access = DOPPEL_READ;

  doppel_launch launch;
  memset(&launch, 0, sizeof launch);
  launch.struct_size = sizeof launch;
  launch.target = "gfx1100";
  launch.code_kind = DOPPEL_CODE_RAW;
  launch.code = kCode;
  launch.code_size = sizeof kCode;
  launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
  launch.workgroup[0] = kLanes;
  launch.workgroup[1] = launch.workgroup[2] = 1;
  launch.rsrc1 = 0x60af001f;
  launch.rsrc2 = 15 << 1 | 1 << 7;
  launch.user_data[0] = (uint32_t)ranges[1].address;
  launch.user_data[1] = (uint32_t)(ranges[1].address >> 32);
  launch.ranges = ranges;
  launch.range_count = 2;
  launch.report = report;
  launch.report_size = sizeof report;

  expect(run_kernel(&launch) == DOPPEL_OK, report);
  expect(launch.waves == 2 && launch.wave_instructions == 14, "two waves, seven instructions each");
  for (uint32_t i = 0; i < kLanes; ++i) expect(out[i] == i, "doppel_run_kernel stores the lane");

  ranges[0].size -= 4;
  expect(run_kernel(&launch) == DOPPEL_FAULT, "a store beyond the range faults");
  expect(strstr(report, "global_store_b32") != NULL, "the report names the instruction");
  expect(strstr(report, "lane 31") != NULL, "the report names the lane");

  launch.struct_size = 8;
  expect(run_kernel(&launch) == DOPPEL_INVALID_ARGUMENT, "an unknown struct size is refused");
  expect(run_kernel(NULL) == DOPPEL_INVALID_ARGUMENT, "null is refused");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  run_asm_function run_asm;
  run_kernel_function run_kernel;
  load(library, "run_asm", &run_asm);
  load(library, "doppel_run_kernel", &run_kernel);
  test_run_asm(run_asm);
  test_run_kernel(run_kernel);
  dlclose(library);
  return failures == 0 ? 0 : 1;
}
