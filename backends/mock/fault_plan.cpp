#include "backends/mock/fault_plan.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>

#include "backends/mock/ioctl_names.h"
#include "core/files.h"

namespace doppel::mock {
namespace {

constexpr int kLastErrno = 133;  // EHWPOISON, Linux asm-generic/errno.h

std::optional<int> errno_of(std::string_view name) {
  for (int number = 1; number <= kLastErrno; ++number) {
    const char* known = strerrorname_np(number);
    if (known != nullptr && name == known) return number;
  }
  return std::nullopt;
}

/// The headers' names and the tables' differ by where they come from.
std::string without_prefix(std::string_view name) {
  for (std::string_view prefix : {"AMDKFD_IOC_", "DRM_IOCTL_"}) {
    if (name.starts_with(prefix)) return std::string(name.substr(prefix.size()));
  }
  return std::string(name);
}

struct Calls {
  uint64_t first = 1, last = 1;
};

/// "2", "2+" (from the second on) or "*".
std::optional<Calls> parse_calls(std::string_view text) {
  constexpr uint64_t kEver = std::numeric_limits<uint64_t>::max();
  if (text == "*") return Calls{1, kEver};
  const bool open = text.ends_with('+');
  if (open) text.remove_suffix(1);
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end || number == 0) return std::nullopt;
  return Calls{number, open ? kEver : number};
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line.substr(0, line.find('#')))};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::unexpected<Status> wrong(std::string message) {
  return error(StatusCode::InvalidArgument, std::move(message));
}

}  // namespace

Result<FaultPlan::Fault> FaultPlan::parse_line(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  const std::string& kind = words.front();
  Fault fault;
  size_t calls_at = 1;
  if (kind == "ioctl") {
    fault.kind = Kind::Ioctl;
    calls_at = 2;
  } else if (kind == "mmap") {
    fault.kind = Kind::Mmap;
  } else if (kind == "interrupt") {
    fault.kind = Kind::Interrupt;
  } else {
    return wrong(fmt::format("{} can't go wrong; ioctl, mmap and interrupt can", kind));
  }
  if (words.size() != calls_at + 2) {
    return wrong(fmt::format("it is not \"{}{} CALL {}\"", kind,
                             fault.kind == Kind::Ioctl ? " NAME" : "",
                             fault.kind == Kind::Interrupt ? "lost" : "ERRNO"));
  }
  if (fault.kind == Kind::Ioctl) {
    fault.name = without_prefix(words[1]);
    if (fault.name != "*" && !is_ioctl_name(fault.name)) {
      return wrong(fmt::format("no driver has the call {}", words[1]));
    }
  }
  const auto calls = parse_calls(words[calls_at]);
  if (!calls) return wrong(fmt::format("{} is none of N, N+ and *", words[calls_at]));
  fault.first = calls->first;
  fault.last = calls->last;
  const std::string& how = words[calls_at + 1];
  if (fault.kind == Kind::Interrupt) {
    if (how != "lost") return wrong(fmt::format("an interrupt is lost, not {}", how));
    return fault;
  }
  const auto number = errno_of(how);
  if (!number) return wrong(fmt::format("there is no error {}", how));
  fault.os_error = *number;
  return fault;
}

Result<FaultPlan> FaultPlan::parse(std::string_view text) {
  FaultPlan plan;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (words_of(line).empty()) continue;
    auto fault = parse_line(line);
    if (!fault) {
      return wrong(fmt::format("Line {} of the fault plan can't be used: {}.", number,
                               fault.error().message()));
    }
    plan.faults_.push_back(*std::move(fault));
  }
  return plan;
}

Result<FaultPlan> FaultPlan::load(const std::string& path) {
  DOPPEL_ASSIGN(const std::string text, read_text_file(path));
  return parse(text);
}

int FaultPlan::on_ioctl(std::string_view name) {
  return decide(Kind::Ioctl, without_prefix(name));
}

int FaultPlan::decide(Kind kind, std::string_view name) {
  int os_error = 0;
  for (Fault& fault : faults_) {
    if (fault.kind != kind) continue;
    if (kind == Kind::Ioctl && fault.name != "*" && fault.name != name) continue;
    ++fault.calls;
    const bool now = fault.calls >= fault.first && fault.calls <= fault.last;
    if (now && os_error == 0) os_error = fault.os_error;
  }
  return os_error;
}

}  // namespace doppel::mock
