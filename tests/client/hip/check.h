// What the HIP clients have in common: a call that fails ends the program with its name.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                    \
  do {                                                                 \
    const hipError_t check_status = (call);                            \
    if (check_status != hipSuccess) {                                  \
      std::printf("%s: %s\n", #call, hipGetErrorString(check_status)); \
      std::exit(1);                                                    \
    }                                                                  \
  } while (false)

/// Exit status 0 if all values are right.
inline int finish(long wrong) {
  std::printf("wrong values: %ld\n", wrong);
  return wrong == 0 ? 0 : 1;
}
