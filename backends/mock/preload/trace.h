// Trace: a run as JSON lines: the client's driver calls (CallLog), and what the GPUs make of them:
//
//   {"event":"queue","queue":"queue 0 (aql, gpu 0)","ring":"0x7f..","ring_bytes":16384}
//   {"event":"packet","queue":"queue 0 (aql, gpu 0)","place":"at dword 0 of the ring",
//    "name":"KERNEL_DISPATCH","fields":{"setup":"1",...},"dwords":["0x11402",...]}
//   {"event":"dispatch","queue":...,"tag":0,"kernel":"vector_add","program":"0x7f..",
//    "grid":[391,1,1],"workgroup":[256,1,1],"wave":32,"lds":0,"scratch":0}
//   {"event":"dispatch_done","queue":...,"tag":0,"faulted":false}
//   {"event":"fault","queue":...,"kind":"UnmappedAccess","message":"..."}
//
// Calls are written by the client's threads, events by the engine thread, each line as it happens,
// so that a run that is killed keeps its trace.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "backends/kfd/call_log.h"
#include "core/status.h"
#include "emulator/verify/observer.h"

namespace doppel::mock::preload {

class Trace final : public emu::Observer {
 public:
  /// Appends to the file, as several processes may. System if it can't be opened.
  static Result<std::unique_ptr<Trace>> open(const std::string& path);

  kfd::CallLog& calls() { return calls_; }

  void on_queue_created(const emu::QueueRef& queue) override;
  void on_queue_destroyed(const emu::QueueRef& queue) override;
  void on_packet(const emu::PacketEvent& event) override;
  emu::AccessLog* on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                              const emu::Dispatch& dispatch) override;
  void on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                     std::span<const emu::MemoryAccess> effects) override;
  void on_fault(const emu::QueueRef& queue, const emu::Fault& fault) override;

 private:
  explicit Trace(const std::string& path);

  std::ofstream file_;
  kfd::CallLog calls_;
};

}  // namespace doppel::mock::preload
