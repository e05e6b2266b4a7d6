// VINTERP: attribute interpolation within quads.
#include "emulator/isa/semantics/lanes.h"

DOPPEL_BEGIN_LEVEL

namespace {

/// D = (lane kFrom of the quad of source 0) * source 1 + source 2, the latter of the quad's lane 0
/// for the first of the two steps (P10), of the lane itself for the second (P2).
template <int kFrom, bool kQuadAddend>
struct interpolate {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const Source<A> delta(wave, *inst, 0);
    const Source<B> position(wave, *inst, 1);
    const Source<C> base(wave, *inst, 2);
    Results<D> results(wave, *inst);
    for (int l = 0; l < kLanes; ++l) {
      const int quad = l & ~3;
      const float addend = base[kQuadAddend ? quad : l];
      results.set(l, std::fma(delta[quad + kFrom], position[l], addend));
    }
    results.commit(wave, *inst);
    return inst + 1;
  }
};
using interpolate_p10 = interpolate<1, true>;
using interpolate_p2 = interpolate<2, false>;

}  // namespace

extern const RowHandler kVinterp[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/vinterp.inc"
#undef INST
};

DOPPEL_END_LEVEL
