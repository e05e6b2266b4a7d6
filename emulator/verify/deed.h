// Deed: who did it: one packet, dispatch or host call that has accessed memory, remembered as long
// as bytes remember it. Kept raw; turned into words only for a finding.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "core/packets/packet.h"
#include "core/verify/finding.h"
#include "emulator/cp/packet_stream.h"
#include "emulator/memory/access_log.h"
#include "emulator/verify/epoch.h"
#include "emulator/verify/observer.h"

namespace doppel::verify {

/// What kind of unit made an access: it decides which caches stand in its way.
enum class Agent : uint8_t { Host, CommandProcessor, Sdma, Shader };

struct Deed {
  Epoch epoch;
  Agent agent = Agent::Host;
  uint32_t gpu = 0;
  std::string actor;  // "queue 3 (pm4, gpu 0)"

  // A packet, or the one that launched the dispatch.
  packets::Language language = packets::Language::Pm4;
  GfxFamily family = GfxFamily::Gfx11;
  emu::PacketPlace place;
  std::array<uint32_t, 16> dwords{};
  uint32_t size = 0;

  std::string call;  // of the host: "Device::write"
  std::string node;  // of a graph

  // A dispatch.
  uint64_t program = 0;
  std::string kernel;
  std::shared_ptr<const emu::AccessLog> log;
};

using DeedRef = std::shared_ptr<const Deed>;

/// Of a packet that its queue carries out now; without an epoch.
Deed deed_of(const emu::PacketEvent& event);

/// The culprit of a finding about the access of the byte at `va`.
Culprit describe(const Deed& deed, std::string role, uint64_t va, bool write);

}  // namespace doppel::verify
