// Lab: a verified device with kernels, named buffers and signals, on which one defect is tried at a
// time. Defect: a program that is wrong in one place, what must be said of it, and, as the same
// program with the place mended, its corrected twin, of which nothing may be said.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/open_device.h"
#include "core/device.h"
#include "core/packets/field.h"
#include "core/verify/finding.h"

namespace doppel::verify::test {

inline constexpr uint32_t kCount = 1024;  // floats of a buffer
inline constexpr uint32_t kBytes = kCount * sizeof(float);
inline constexpr uint32_t kGroup = 64;
inline constexpr uint32_t kCodeBytes = 64;  // the beginning of a kernel

/// A step of the program that must succeed.
inline void must(const Result<>& done) {
  if (!done) ADD_FAILURE() << done.error().to_string();
}

class Lab {
 public:
  /// `machine` as open_devices() takes it.
  explicit Lab(const std::string& machine);

  Device& gpu(size_t index = 0) { return *devices_[index]; }
  std::unique_ptr<Queue> queue(QueueKind kind, size_t gpu = 0);
  /// Host-visible memory of `bytes`, zeroed, that every GPU maps.
  Allocation buffer(const std::string& name, uint64_t bytes = kBytes);
  /// A signal that lives as long as the lab, unless it is moved from.
  Signal& signal(int64_t initial = 0);
  /// One that findings place in "signals".
  Signal& named_signal(int64_t initial = 0);

  /// saxpy: y = 2 * x + y.
  void saxpy(ComputeCommands& commands, const Allocation& x, const Allocation& y, size_t gpu = 0);
  Program load(size_t gpu = 0, const std::string& stem = "saxpy");
  Result<Kernel> kernel() const { return programs_[0].kernel("saxpy"); }
  /// All that was submitted has ended; a wait without an end is part of the defect.
  void settle();

  const Allocation& x() const { return x_; }
  const Allocation& y() const { return y_; }
  const Allocation& z() const { return z_; }
  /// Coarse-grained memory, of kBytes too: caches keep it until they are told otherwise.
  const Allocation& coarse() const { return coarse_; }
  FindingLog findings() { return gpu().findings().value(); }

 private:
  Allocation allocate(const std::string& name, uint64_t bytes, bool coherent);

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Program> programs_;  // by GPU
  Allocation x_, y_, z_, coarse_;
  std::deque<Signal> signals_;
};

/// A recording that can be changed before it is submitted.
template <class Recording>
class Bare final : public Recording {
 public:
  using Recording::Recording;
  Submission take() { return *std::exchange(this->submission_, std::nullopt); }
};
using BareCommands = Bare<ComputeCommands>;

/// The submission's first packet of that name.
std::span<uint32_t> packet_named(Submission& submission, std::string_view name);
/// A submission of these dwords.
Submission raw(const Queue& queue, std::span<const uint32_t> dwords);

/// `bytes` from the memory's first on, whatever it has.
inline MemoryView at(const Allocation& memory, uint64_t bytes) {
  return {memory.gpu_address(), bytes, nullptr};
}

/// Makes fillers of all PM4 packets of that name.
void remove_packets(Submission& submission, std::string_view name);

inline constexpr std::string_view kAnyPacket = "";

/// Sets the field in all packets of that name.
void set_in_packets(Submission& submission, std::string_view name,
                    const packets::FieldColumns& field, uint64_t value);

struct Defect {
  const char* name;
  /// All that may be broken; which of them is may depend on who comes first.
  std::vector<RuleId> rules;
  /// Text of culprits, each of them in one of the finding's.
  std::vector<const char*> culprits;
  /// "" : none is named.
  const char* bytes;
  /// Runs the program; `mended`: its corrected twin.
  void (*run)(Lab& lab, bool mended);
  uint32_t gpus = 1;
};

/// How GoogleTest names a defect.
inline void PrintTo(const Defect& defect, std::ostream* out) {
  *out << defect.name;
}

/// A defect on one schedule.
using Case = std::tuple<Defect, uint64_t>;

class DefectTest : public ::testing::TestWithParam<Case> {
 protected:
  /// The findings of the defect or of its twin.
  FindingLog run(bool mended);
  const Defect& defect() const { return std::get<0>(GetParam()); }
};

std::string case_name(const ::testing::TestParamInfo<Case>& info);

/// Tries each defect of `table` on some schedules.
#define DOPPEL_DEFECTS(Table, table) \
  INSTANTIATE_TEST_SUITE_P(          \
      Table, DefectTest,             \
      ::testing::Combine(::testing::ValuesIn(table), ::testing::Range<uint64_t>(1, 5)), case_name)

}  // namespace doppel::verify::test
