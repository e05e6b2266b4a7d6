// RecordedSchedule: follows a record's turns as far as they can be followed. Who can't go on loses
// the turn; when no turn is left, whoever went on last goes on while it can.
//
// As Schedule: on the thread that steps the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/mock/schedule_record.h"
#include "emulator/schedule.h"

namespace doppel::mock {

/// A block's name, or "host".
std::string name_of(const emu::Block* block);

class RecordedSchedule final : public emu::Schedule {
 public:
  explicit RecordedSchedule(ScheduleRecord record) : record_(std::move(record)) {}

  size_t choose(std::span<emu::Block* const> runnable) override;
  bool delays_host() const override { return true; }

  /// The turns as they really went.
  const ScheduleRecord& went() const { return went_; }
  /// Whether somebody lost a turn.
  bool diverged() const { return diverged_; }

 private:
  ScheduleRecord record_, went_;
  size_t turn_ = 0;
  uint64_t steps_ = 0;  // of the turn, made
  bool diverged_ = false;
};

}  // namespace doppel::mock
