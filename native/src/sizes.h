// The sizes of a block under the encodings, found by counting ones (classify.h).
#pragma once

#include "block.h"
#include "classify.h"

namespace planezip {
namespace {

// Sizes a block under ZVC and the encodings whose bit_of(tag) is set in `encodings`. Reads
// kSourceSlack bytes beyond the block.
template <unsigned W>
inline void size_block(const uint8_t* block, unsigned encodings, unsigned i, ChunkPlan& plan) {
    constexpr unsigned N = Width<W>::symbols;
    const auto set = [&](Tag tag, unsigned bits) {
        plan.bits[tag][i] = static_cast<uint16_t>(bits);
    };
    const auto keep = [&](Tag tag, const PlaneClasses& classes) {
        plan.classes[tag].nonzero[i] = static_cast<uint32_t>(classes.nonzero);
        plan.classes[tag].coded[i] = static_cast<uint32_t>(classes.coded);
        plan.classes[tag].verbatim[i] = static_cast<uint32_t>(classes.verbatim);
    };
    if (encodings & bit_of(kDbx)) {
        const PlaneClasses planes = delta_classes<W>(block);
        keep(kDbx, planes);
        set(kDbx, W + plane_code_bits<W + 1>(planes, N - 1));
    }
    const SymbolCounts<W> found = count_symbols<W>(block);
    set(kZvc, N + W * found.survivors);
    unsigned bx = 0;
    if (encodings & (bit_of(kBx) | bit_of(kZbx))) {
        const PlaneClasses planes = found.planes.classes();
        keep(kBx, planes);
        bx = plane_code_bits<W>(planes, N);
        set(kBx, bx);
    }
    if (!(encodings & bit_of(kZbx))) return;
    if (found.survivors == N) {
        set(kZbx, N + bx);  // nothing to remove: the planes of BX
    } else if (found.survivors == 0) {
        set(kZbx, N);
    } else {
        const PlaneClasses planes = survivor_classes<W>(block, found);
        keep(kZbx, planes);
        set(kZbx, N + plane_code_bits<W>(planes, found.survivors));
    }
}

}  // namespace
}  // namespace planezip
