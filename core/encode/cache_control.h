// Which cache bits the commands set, per generation: gfx9 has TC_* actions, gfx10 and later GCR.
#pragma once

#include "core/packets/pm4.h"
#include "core/packets/sdma.h"

namespace doppel {

/// Everything a kernel might read stale is written back and invalidated.
inline void set_full_acquire(pm4::AcquireMem& packet, GfxFamily family) {
  if (family == GfxFamily::Gfx9_4) {
    packet.tc_wb_action_ena(true).tcl1_action_ena(true).tc_action_ena(true);
    packet.sh_kcache_action_ena(true).sh_icache_action_ena(true);
    return;
  }
  packet.gcr_gli_inv(1).gcr_glk_wb(true).gcr_glk_inv(true).gcr_glv_inv(true);
  packet.gcr_gl2_inv(true).gcr_gl2_wb(true);
  packet.gcr_glm_wb(true).gcr_glm_inv(true).gcr_gl1_inv(true);
}

/// What the work before wrote is visible to everybody when the release's data is.
inline void set_full_release(pm4::ReleaseMem& packet, GfxFamily family) {
  if (family == GfxFamily::Gfx9_4) {
    packet.tcl1_action_ena(true).tc_action_ena(true).tc_wb_action_ena(true);
    return;
  }
  packet.gcr_glv_inv(true).gcr_gl1_inv(true).gcr_gl2_inv(true).gcr_gl2_wb(true);
  packet.gcr_glm_wb(true).gcr_glm_inv(true).gcr_seq(1);
}

/// Before a copy: its reads see what others wrote.
inline void set_copy_acquire(sdma::GcrReq& packet) {
  packet.gcr_glm_inv(true).gcr_glk_wb(true).gcr_glk_inv(true).gcr_glv_inv(true);
  packet.gcr_gl1_inv(true).gcr_gl2_inv(true).gcr_gl2_wb(true);
}

/// After a copy: others see what it wrote.
inline void set_copy_release(sdma::GcrReq& packet) {
  packet.gcr_glk_wb(true).gcr_gl2_wb(true);
}

}  // namespace doppel
