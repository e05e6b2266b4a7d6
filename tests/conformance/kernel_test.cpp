// Kernels on PM4 and AQL queues: arguments, launch dimensions, LDS, scratch, atomics, cross-lane
// operations; results against the CPU's.
#include <bit>
#include <cmath>
#include <numeric>

#include "tests/conformance/conformance.h"
#include "tests/paths.h"

namespace doppel::conformance {
namespace {

class KernelTest : public ComputeTest {
 protected:
  /// Runs one launch to its end.
  void run(const Program& program, std::string_view kernel, const KernelArgs& arguments, Dim3 grid,
           Dim3 workgroup, const LaunchOptions& options = {}) {
    EXPECT_OK(compute()
                  .memory_barrier()
                  .exec(program.kernel(kernel), arguments, grid, workgroup, options)
                  .submit());
    EXPECT_OK(gpu().synchronize());
  }
};
DOPPEL_INSTANTIATE_COMPUTE(KernelTest);

std::vector<float> floats(size_t count, float step = 0.25f) {
  std::vector<float> values(count);
  for (size_t at = 0; at < count; ++at) values[at] = static_cast<float>(at % 977) * step;
  return values;
}

TEST_P(KernelTest, VectorAddChecksItsBounds) {
  auto program = load("vector_add");
  if (!program) return;
  constexpr uint32_t kCount = 1000;  // not a multiple of the workgroup
  const auto a = floats(1024), b = floats(1024, 3.0f);
  const Allocation da = upload(a), db = upload(b), out = upload(std::vector<float>(1024, -1.0f));
  run(*program, "vector_add", args(da, db, out, kCount), 16, 64);
  const auto result = download<float>(out);
  for (uint32_t i = 0; i < 1024; ++i) {
    ASSERT_EQ(result[i], i < kCount ? a[i] + b[i] : -1.0f) << i;
  }
}

TEST_P(KernelTest, GridStrideLoopCoversEverything) {
  auto program = load("saxpy");
  if (!program) return;
  constexpr uint32_t kCount = 10007;
  const auto x = floats(kCount);
  const Allocation dx = upload(x), dy = upload(std::vector<float>(kCount, 1.0f));
  run(*program, "saxpy", args(dx, dy, 2.0f, kCount), 3, 128);
  const auto y = download<float>(dy);
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(y[i], 2.0f * x[i] + 1.0f) << i;
}

/// Without hidden arguments the kernel reads its block size from the dispatch packet.
TEST_P(KernelTest, OldCodeObjectReadsItsDispatchPacket) {
  auto program = load("saxpy.cov4");
  if (!program) return;
  EXPECT_EQ(program->object().version(), 4u);
  constexpr uint32_t kCount = 4099;
  const auto x = floats(kCount);
  const Allocation dx = upload(x), dy = upload(std::vector<float>(kCount, 1.0f));
  run(*program, "saxpy", args(dx, dy, 0.5f, kCount), 5, 96);
  const auto y = download<float>(dy);
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(y[i], 0.5f * x[i] + 1.0f) << i;
}

TEST_P(KernelTest, PartialWorkgroupRunsOnlyItsWorkItems) {
  auto program = load("vector_add");
  if (!program) return;
  const auto a = floats(256), b = floats(256, 2.0f);
  const Allocation da = upload(a), db = upload(b), out = upload(std::vector<float>(256, -1.0f));
  EXPECT_OK(compute()
                .exec(program->kernel("vector_add"), args(da, db, out, 256u), WorkItems(150), 64)
                .submit());
  EXPECT_OK(gpu().synchronize());
  const auto result = download<float>(out);
  for (uint32_t i = 0; i < 256; ++i) {
    // 2 full workgroups of 64 and one of 22: the kernel's bound alone would let all 256 through.
    ASSERT_EQ(result[i], i < 150 ? a[i] + b[i] : -1.0f) << i;
  }
}

TEST_P(KernelTest, LdsReduction) {
  auto program = load("reduce");
  if (!program) return;
  constexpr uint32_t kCount = 50000, kGroups = 24;
  std::vector<int32_t> in(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = static_cast<int32_t>(i * 7 % 1000) - 300;
  const Allocation din = upload(in), partial = allocate(kGroups * 4);
  run(*program, "reduce_sum", args(din, partial, kCount), kGroups, 256);
  const auto sums = download<int32_t>(partial);
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0), std::accumulate(in.begin(), in.end(), 0));
}

TEST_P(KernelTest, TiledMatrixProduct) {
  auto program = load("matmul");
  if (!program) return;
  constexpr uint32_t n = 64;
  std::vector<float> a(n * n), b(n * n);
  for (uint32_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i % 13) - 6.0f;
    b[i] = static_cast<float>(i % 7) - 3.0f;
  }
  const Allocation da = upload(a), db = upload(b), dc = allocate(n * n * 4);
  run(*program, "matmul", args(da, db, dc, n), Dim3(n / 16, n / 16), Dim3(16, 16));
  const auto c = download<float>(dc);
  for (uint32_t row = 0; row < n; ++row) {
    for (uint32_t column = 0; column < n; ++column) {
      float sum = 0;  // small integers: exact in any order
      for (uint32_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
      ASSERT_EQ(c[row * n + column], sum) << row << "," << column;
    }
  }
}

TEST_P(KernelTest, ScratchWithADynamicIndex) {
  auto program = load("scratch");
  if (!program) return;
  constexpr uint32_t kCount = 500, kShift = 11;
  const auto in = pattern(kCount);
  const Allocation din = upload(in), dout = allocate(kCount * 4);
  EXPECT_GT((*program->kernel("scratch_dynamic")).info().private_bytes, 0u);
  run(*program, "scratch_dynamic", args(din, dout, kShift, kCount), 8, 64);
  const auto out = download<uint32_t>(dout);
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t values[64];
    for (uint32_t k = 0; k < 64; ++k) values[(k * 7 + i) & 63] = in[i] + k * k;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < 64; ++k) sum = sum * 31 + values[(k + kShift + i) & 63];
    ASSERT_EQ(out[i], sum) << i;
  }
}

/// The second kernel needs more scratch than the first was given, with both in flight.
TEST_P(KernelTest, RecursionAndScratchThatGrows) {
  auto program = load("scratch");
  if (!program) return;
  const auto in = pattern(64);
  const Allocation din = upload(in), small = allocate(256), large = allocate(256);
  auto commands = compute();
  commands.exec(program->kernel("scratch_dynamic"), args(din, small, 3u, 64u), 1, 64)
      .exec(program->kernel("scratch_recursive"), args(large, 64u), 1, 64, {.stack_bytes = 16384});
  EXPECT_OK(commands.submit());
  EXPECT_OK(gpu().synchronize());
  const uint32_t fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13};
  const auto out = download<uint32_t>(large);
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(out[i], fibonacci[i % 8]) << i;
}

TEST_P(KernelTest, DivergentControlFlow) {
  auto program = load("divergent");
  if (!program) return;
  constexpr uint32_t kCount = 300;
  std::vector<uint32_t> in(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = i * 37 % 400 + 1;
  const Allocation din = upload(in), dsteps = allocate(kCount * 4);
  run(*program, "collatz", args(din, dsteps, kCount), 5, 64);
  const auto steps = download<uint32_t>(dsteps);
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t n = in[i], taken = 0;
    while (n > 1 && taken < 1000) {
      n = n % 2 ? 3 * n + 1 : n / 2;
      ++taken;
    }
    ASSERT_EQ(steps[i], taken) << in[i];
  }
}

TEST_P(KernelTest, AtomicsOnLdsAndMemory) {
  auto program = load("atomics");
  if (!program) return;
  constexpr uint32_t kCount = 20000;
  const auto data = pattern(kCount);
  const Allocation ddata = upload(data), bins = upload(std::vector<uint32_t>(64, 0));
  run(*program, "histogram", args(ddata, bins, kCount), 12, 128);
  std::vector<uint32_t> expected(64, 0);
  for (uint32_t value : data) ++expected[value & 63];
  EXPECT_EQ(download<uint32_t>(bins), expected);

  const Allocation words = upload(std::vector<uint32_t>{0, 0, ~0u, 0, ~0u, 0, 0, 0});
  run(*program, "integer_atomics", args(words, 1000u), 4, 256);
  uint32_t sum = 0, exclusive = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    sum += i;
    exclusive ^= i;
  }
  EXPECT_EQ(download<uint32_t>(words),
            (std::vector<uint32_t>{sum, 0u - sum, 0, 999, 0, ~0u, exclusive, 1000}));
}

TEST_P(KernelTest, Wave64Kernels) {
  auto program = load("wave64");
  if (!program) return;
  EXPECT_EQ((*program->kernel("wave64_sum")).info().wave_size, 64u);
  constexpr uint32_t kCount = 1000;
  std::vector<int32_t> in(1024);
  for (uint32_t i = 0; i < 1024; ++i) in[i] = static_cast<int32_t>(i * 31 % 101) - 50;
  const Allocation din = upload(in), sums = allocate(4 * 4), ballots = allocate(16 * 8);
  run(*program, "wave64_sum", args(din, sums, kCount), 4, 256);
  run(*program, "wave64_ballot", args(din, ballots, kCount), 4, 256);
  const auto sum = download<int32_t>(sums);
  for (uint32_t group = 0; group < 4; ++group) {
    int32_t expected = 0;
    for (uint32_t i = group * 256; i < std::min(group * 256 + 256, kCount); ++i) expected += in[i];
    EXPECT_EQ(sum[group], expected) << group;
  }
  const auto ballot = download<uint64_t>(ballots);
  for (uint32_t i = 0; i < 1024; ++i) {
    ASSERT_EQ(ballot[i / 64] >> (i % 64) & 1, uint64_t{i < kCount && in[i] > 0}) << i;
  }
}

TEST_P(KernelTest, HalfPrecision) {
  auto program = load("fp16");
  if (!program) return;
  constexpr uint32_t kCount = 512;
  const auto in = floats(kCount, 0.5f);
  const Allocation din = upload(in), half = allocate(kCount * 2), back = allocate(kCount * 4);
  run(*program, "f32_to_f16", args(din, half, kCount), 4, 128);
  run(*program, "f16_to_f32", args(half, back, kCount), 4, 128);
  EXPECT_EQ(download<float>(back), in) << "these values are exact in half precision";
}

TEST_P(KernelTest, ManyLaunchesInOneRecording) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = upload(std::vector<float>(256, 1.0f));
  const Allocation y = upload(std::vector<float>(256, 0.0f));
  auto commands = compute();
  for (int round = 0; round < 100; ++round) {
    commands.exec(program->kernel("saxpy"), args(x, y, 1.0f, 256u), 1, 256);
  }
  EXPECT_OK(commands.submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(download<float>(y), std::vector<float>(256, 100.0f));
}

/// More submissions than the argument memory holds at once, each with its own value.
TEST_P(KernelTest, ArgumentMemoryIsNotReusedWhileInFlight) {
  reopen({.device = {.argument_bytes = 4096}});
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = upload(std::vector<float>(64, 1.0f));
  const Allocation y = upload(std::vector<float>(64, 0.0f));
  float expected = 0;
  for (uint32_t round = 1; round <= 300; ++round) {
    expected += static_cast<float>(round);
    ASSERT_OK(compute()
                  .exec(program->kernel("saxpy"), args(x, y, static_cast<float>(round), 64u), 1, 64)
                  .submit());
  }
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(download<float>(y), std::vector<float>(64, expected));
}

/// One recording whose arguments exceed the memory: it grows.
TEST_P(KernelTest, ArgumentMemoryGrows) {
  reopen({.device = {.argument_bytes = 4096}});
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = upload(std::vector<float>(64, 1.0f));
  const Allocation y = upload(std::vector<float>(64, 0.0f));
  auto commands = compute();
  for (int round = 0; round < 40; ++round) {
    commands.exec(program->kernel("saxpy"), args(x, y, 1.0f, 64u), 1, 64);
  }
  EXPECT_OK(commands.submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(download<float>(y), std::vector<float>(64, 40.0f));
}

TEST_P(KernelTest, ProgramMayGoWhileItsKernelIsInFlight) {
  const Allocation x = upload(std::vector<float>(4096, 1.0f));
  const Allocation y = upload(std::vector<float>(4096, 0.0f));
  {
    auto program = load("saxpy");
    if (!program) return;
    EXPECT_OK(compute().exec(program->kernel("saxpy"), args(x, y, 3.0f, 4096u), 16, 256).submit());
  }
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(download<float>(y), std::vector<float>(4096, 3.0f));
}

TEST_P(KernelTest, BadLaunchesAreRefused) {
  auto program = load("matmul");
  auto saxpy = load("saxpy");
  if (!program || !saxpy) return;
  const Allocation m = allocate(4096);
  EXPECT_OK(gpu().write(m, std::vector<float>(1024)));
  const auto good = args(m, m, m, 16u);
  const auto attempt = [&](Dim3 grid, Dim3 workgroup, const LaunchOptions& options = {}) {
    return compute().exec(program->kernel("matmul"), good, grid, workgroup, options).submit();
  };
  EXPECT_ERROR(attempt(Dim3(0), Dim3(16, 16)), StatusCode::InvalidArgument, "empty axis");
  EXPECT_ERROR(attempt(Dim3(1, 1, 0), Dim3(16, 16)), StatusCode::InvalidArgument, "empty axis");
  EXPECT_ERROR(attempt(Dim3(1), Dim3(16, 0)), StatusCode::InvalidArgument, "empty axis");
  EXPECT_ERROR(attempt(Dim3(1), Dim3(8, 8)), StatusCode::InvalidArgument, "16x16x1");
  EXPECT_ERROR(attempt(Dim3(1), Dim3(2048)), StatusCode::InvalidArgument, "exceeds 1024");
  EXPECT_ERROR(attempt(Dim3(1), Dim3(64, 32)), StatusCode::InvalidArgument, "2048 work-items");
  EXPECT_ERROR(attempt(Dim3(~0u), Dim3(16, 16)), StatusCode::OutOfRange, "2^32");
  EXPECT_ERROR(attempt(Dim3(1), Dim3(16, 16), {.dynamic_group_bytes = 65536}),
               StatusCode::InvalidArgument, "bytes of LDS");
  EXPECT_ERROR(compute().exec(program->kernel("absent"), good, 1, 1).submit(), StatusCode::NotFound,
               "(absent)");
  EXPECT_OK(attempt(Dim3(1), Dim3(16, 16)));
  EXPECT_OK(gpu().synchronize());
}

TEST_P(KernelTest, BadArgumentsAreRefused) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = allocate(4096);
  const auto attempt = [&](const KernelArgs& arguments) {
    return compute().exec(program->kernel("saxpy"), arguments, 1, 64).submit();
  };
  EXPECT_ERROR(attempt(args(x, x, 1.0f)), StatusCode::InvalidArgument,
               "takes 4 arguments; 3 are given");
  EXPECT_ERROR(attempt(args(x, x, 1.0f, 1u, 2u)), StatusCode::InvalidArgument, "5 are given");
  EXPECT_ERROR(attempt(args(x, x, 1.0, 1u)), StatusCode::InvalidArgument, "8 are given");
  EXPECT_ERROR(attempt(args(1.0f, x, 1.0f, 1u)), StatusCode::InvalidArgument, "is a buffer");
  EXPECT_ERROR(attempt(args(x, x, x, 1u)), StatusCode::InvalidArgument, "is a value");
  EXPECT_ERROR(attempt(args(x, Allocation(), 1.0f, 1u)), StatusCode::InvalidArgument,
               "empty allocation");
  Allocation freed = allocate(64);
  EXPECT_OK(freed.release());
  EXPECT_ERROR(attempt(args(x, freed, 1.0f, 1u)), StatusCode::InvalidArgument, "freed");
}

TEST_P(KernelTest, WrongFilesAreRefused) {
  EXPECT_ERROR(gpu().load_program(std::filesystem::path("/nonexistent.co")), StatusCode::NotFound,
               "/nonexistent.co");
  EXPECT_ERROR(gpu().load_program(std::as_bytes(std::span("no ELF file at all"))),
               StatusCode::Malformed, "too short");
  const std::string other = gpu().target().name == "gfx1030" ? "gfx1100" : "gfx1030";
  const auto path = test::kernel_file("saxpy." + other + ".co");
  EXPECT_ERROR(gpu().load_program(path), StatusCode::InvalidArgument, other);
}

}  // namespace
}  // namespace doppel::conformance
