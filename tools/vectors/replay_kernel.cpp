#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "core/code_object.h"
#include "emulator/capi/kernel_runner.h"
#include "tools/vectors/guest_layout.h"
#include "tools/vectors/replay.h"

namespace doppel::vectors {
namespace {

uint64_t buffer_address(size_t index) {
  return kFirstBufferAddress + index * kBufferSpacing;
}

// A kernel laid out in memory, ready to be launched any number of times.
class LoadedKernel {
 public:
  LoadedKernel(const CapturedKernel& kernel, const KernelReplayOptions& options)
      : kernel_(kernel), runner_({.workers = options.workers, .coverage = options.coverage}) {}

  Result<> load() {
    DOPPEL_ASSIGN(auto object, CodeObject::parse(kernel_.code_object));
    DOPPEL_ASSIGN(const KernelInfo* info, object.find_kernel(kernel_.symbol));
    code_.resize(object.image_bytes() + kZerosBehindCode);
    DOPPEL_TRY(object.write_image(kCodeAddress, std::span(code_).first(object.image_bytes())));
    DOPPEL_TRY(runner_.map(kCodeAddress, code_.data(), code_.size(), kReadExecute));
    DOPPEL_TRY(map_arguments());
    launch_ = {.target = &object.target(),
               .program = kCodeAddress + info->entry_offset,
               .rsrc1 = kernel_.rsrc1,
               .rsrc2 = kernel_.rsrc2,
               .rsrc3 = kernel_.rsrc3,
               .wave_size = kernel_.wave_size,
               .grid = kernel_.grid,
               .workgroup = kernel_.block,
               .lds_bytes = kernel_.lds_bytes,
               .scratch_bytes_per_lane = kernel_.scratch_bytes_per_lane};
    launch_.user_data[0] = static_cast<uint32_t>(kKernargAddress);
    launch_.user_data[1] = static_cast<uint32_t>(kKernargAddress >> 32);
    return {};
  }

  void reset_buffers() {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      std::ranges::fill(buffers_[i], std::byte{0});
      std::ranges::copy(kernel_.buffers[i].before, buffers_[i].begin());
    }
  }

  auto run() { return runner_.run(launch_); }
  std::span<const std::byte> buffer(size_t index) const { return buffers_[index]; }

 private:
  Result<> map_arguments() {
    kernarg_.resize(std::max<size_t>(kernel_.kernarg_size, 16));
    size_t values_begin = 0;
    buffers_.resize(kernel_.buffers.size());
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const CapturedBuffer& buffer = kernel_.buffers[i];
      const uint64_t address = buffer_address(i);
      std::memcpy(kernarg_.data() + buffer.kernarg_offset, &address, sizeof(address));
      values_begin = std::max<size_t>(values_begin, buffer.kernarg_offset + sizeof(address));
      buffers_[i].resize(buffer.size);
      DOPPEL_TRY(runner_.map(address, buffers_[i].data(), buffer.size,
                             buffer.written ? kReadWrite : kRead));
    }
    if (!kernel_.values.empty()) {
      std::memcpy(kernarg_.data() + values_begin, kernel_.values.data(), 4 * kernel_.values.size());
    }
    return runner_.map(kKernargAddress, kernarg_.data(), kernarg_.size(), kRead);
  }

  const CapturedKernel& kernel_;
  emu::KernelRunner runner_;
  emu::KernelLaunch launch_;
  std::vector<std::byte> code_;
  std::vector<std::byte> kernarg_;
  std::vector<std::vector<std::byte>> buffers_;
};

bool within_tolerance(uint32_t expected, uint32_t got, double tolerance) {
  const double want = std::bit_cast<float>(expected);
  const double have = std::bit_cast<float>(got);
  return std::abs(want - have) <= tolerance * std::max(std::abs(want), std::abs(have));
}

void compare_buffer(size_t index, const CapturedBuffer& buffer, std::span<const std::byte> got,
                    double tolerance, std::optional<BufferMismatch>& first) {
  for (uint64_t offset = 0; offset < buffer.size; offset += 4) {
    const size_t size = std::min<uint64_t>(4, buffer.size - offset);
    uint32_t want = 0;
    uint32_t have = 0;
    std::memcpy(&want, buffer.after.data() + offset, size);
    std::memcpy(&have, got.data() + offset, size);
    if (want == have || (tolerance > 0 && within_tolerance(want, have, tolerance))) continue;
    if (first) {
      ++first->others;
    } else {
      first = BufferMismatch{.buffer = index, .offset = offset, .expected = want, .got = have};
    }
  }
}

std::optional<BufferMismatch> compare(const CapturedKernel& kernel, const LoadedKernel& loaded) {
  std::optional<BufferMismatch> first;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (!kernel.buffers[i].written) continue;
    compare_buffer(i, kernel.buffers[i], loaded.buffer(i), kernel.tolerance, first);
  }
  return first;
}

}  // namespace

KernelOutcome replay(const CapturedKernel& kernel, const KernelReplayOptions& options) {
  KernelOutcome outcome;
  LoadedKernel loaded(kernel, options);
  if (auto ready = loaded.load(); !ready) {
    outcome.fault.emplace();
    outcome.fault->kind = emu::FaultKind::BadDispatch;
    outcome.fault->message = ready.error().message();
    return outcome;
  }
  for (uint32_t i = 0; i < std::max(options.repeat, 1u); ++i) {
    loaded.reset_buffers();
    const uint64_t begin = options.clock != nullptr ? options.clock->now_ns() : 0;
    auto done = loaded.run();
    const uint64_t end = options.clock != nullptr ? options.clock->now_ns() : 0;
    if (!done) {
      outcome.fault = std::move(done).error();
      return outcome;
    }
    outcome.counters = *done;
    outcome.seconds.push_back(static_cast<double>(end - begin) * 1e-9);
    outcome.mismatch = compare(kernel, loaded);
    if (outcome.mismatch) return outcome;
  }
  return outcome;
}

}  // namespace doppel::vectors
