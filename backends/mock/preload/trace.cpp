#include "backends/mock/preload/trace.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/mock/ioctl_names.h"
#include "backends/mock/loaded_program.h"
#include "core/packets/dump.h"

namespace doppel::mock::preload {
namespace {

using Json = nlohmann::ordered_json;
using kfd::hex;

Json dwords(const packets::Packet& packet) {
  Json list = Json::array();
  for (uint32_t word : packet.dwords) list.push_back(hex(word));
  return list;
}

Json fields(const packets::Packet& packet) {
  Json object = Json::object();
  for (const packets::FieldText& field : packets::describe_fields(packet))
    object[std::string(field.field->name)] = field.text;
  return object;
}

}  // namespace

Trace::Trace(const std::string& path)
    : file_(path, std::ios::out | std::ios::app), calls_(file_, &mock::ioctl_name) {}

Result<std::unique_ptr<Trace>> Trace::open(const std::string& path) {
  std::unique_ptr<Trace> trace(new Trace(path));
  if (!trace->file_) {
    const int os_error = errno;
    return error(StatusCode::System,
                 fmt::format("The trace can't be written ({}): {}.", path, std::strerror(os_error)),
                 os_error);
  }
  return trace;
}

void Trace::on_queue_created(const emu::QueueRef& queue) {
  calls_.write(Json{{"event", "queue"},
                    {"queue", queue.name},
                    {"target", queue.gpu_config.target->name},
                    {"ring", hex(queue.config.ring)},
                    {"ring_bytes", queue.config.ring_bytes}}
                   .dump());
}

void Trace::on_queue_destroyed(const emu::QueueRef& queue) {
  calls_.write(Json{{"event", "queue_destroyed"}, {"queue", queue.name}}.dump());
}

void Trace::on_packet(const emu::PacketEvent& event) {
  calls_.write(Json{{"event", "packet"},
                    {"queue", event.queue.name},
                    {"place", event.place.to_string()},
                    {"language", packets::to_string(event.packet.language)},
                    {"name", event.packet.name()},
                    {"fields", fields(event.packet)},
                    {"dwords", dwords(event.packet)}}
                   .dump());
}

emu::AccessLog* Trace::on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                                   const emu::Dispatch& dispatch) {
  calls_.write(Json{{"event", "dispatch"},
                    {"queue", queue.name},
                    {"tag", tag},
                    {"kernel", function_name(*dispatch.vm, dispatch.program)},
                    {"program", hex(dispatch.program)},
                    {"grid", dispatch.grid},
                    {"workgroup", dispatch.workgroup},
                    {"wave", dispatch.wave32 ? 32 : 64},
                    {"lds", dispatch.lds_bytes},
                    {"scratch", dispatch.scratch_bytes_per_wave}}
                   .dump());
  return nullptr;
}

void Trace::on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                          std::span<const emu::MemoryAccess>) {
  if (kind == emu::CompletionKind::EndOfPipe) return;
  calls_.write(Json{{"event", "dispatch_done"},
                    {"queue", queue.name},
                    {"tag", tag},
                    {"faulted", kind == emu::CompletionKind::DispatchFaulted}}
                   .dump());
}

void Trace::on_fault(const emu::QueueRef& queue, const emu::Fault& fault) {
  calls_.write(Json{{"event", "fault"},
                    {"queue", queue.name},
                    {"kind", emu::to_string(fault.kind)},
                    {"message", fault.message}}
                   .dump());
}

}  // namespace doppel::mock::preload
