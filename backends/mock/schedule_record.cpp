#include "backends/mock/schedule_record.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/files.h"

namespace doppel {
namespace {

using Json = nlohmann::ordered_json;

std::unexpected<Status> malformed(std::string_view what) {
  return error(StatusCode::InvalidArgument, fmt::format("The schedule is malformed: {}.", what));
}

Result<Turn> parse_turn(const Json& turn) {
  if (!turn.is_array() || turn.size() != 2 || !turn[0].is_string() ||
      !turn[1].is_number_unsigned() || turn[1].get<uint64_t>() == 0) {
    return malformed(fmt::format("a turn is [name, steps], not {}",
                                 turn.dump(-1, ' ', true, Json::error_handler_t::replace)));
  }
  return Turn{turn[0].get<std::string>(), turn[1].get<uint64_t>()};
}

/// "" if it has none; nullopt if it is no text.
std::optional<std::string> text_of(const Json& object, const char* key) {
  if (!object.contains(key)) return "";
  if (!object[key].is_string()) return std::nullopt;
  return object[key].get<std::string>();
}

}  // namespace

void ScheduleRecord::add(std::string_view who) {
  if (!turns.empty() && turns.back().who == who) {
    ++turns.back().steps;
  } else {
    turns.push_back({std::string(who), 1});
  }
}

std::string ScheduleRecord::to_json() const {
  Json turns_json = Json::array();
  for (const Turn& turn : turns) turns_json.push_back(Json::array({turn.who, turn.steps}));
  const Json json = {{"machine", machine}, {"what", what}, {"turns", std::move(turns_json)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ScheduleRecord> ScheduleRecord::parse(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return malformed("it is no JSON");
  if (!json.is_object() || !json.contains("turns") || !json["turns"].is_array()) {
    return malformed("it has no array of turns");
  }
  ScheduleRecord record;
  const auto machine = text_of(json, "machine"), what = text_of(json, "what");
  if (!machine || !what) return malformed("machine and what are texts");
  record.machine = *machine;
  record.what = *what;
  for (const Json& turn : json["turns"]) {
    DOPPEL_ASSIGN(record.turns.emplace_back(), parse_turn(turn));
  }
  return record;
}

Result<ScheduleRecord> ScheduleRecord::load(const std::string& path) {
  DOPPEL_ASSIGN(const std::string text, read_text_file(path));
  return parse(text);
}

Result<> ScheduleRecord::save(const std::string& path) const {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << to_json();
  if (!file.flush()) return error(StatusCode::System, fmt::format("{} can't be written.", path));
  return {};
}

}  // namespace doppel
