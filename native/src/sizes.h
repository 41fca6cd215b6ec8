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
    const unsigned survivors = popcount(found.mask);
    set(kZvc, N + W * survivors);
    if (!(encodings & (bit_of(kBx) | bit_of(kZbx)))) return;
    const PlaneClasses planes = found.classes();
    const unsigned bits = plane_code_bits<W>(planes, N);
    keep(kBx, planes);
    set(kBx, bits);
    if (!(encodings & bit_of(kZbx))) return;
    if (survivors == N) {  // nothing to remove: the planes of BX
        keep(kZbx, planes);
        set(kZbx, N + bits);
    } else {
        const PlaneClasses left = found.survivor_classes();
        keep(kZbx, left);
        set(kZbx, N + (survivors ? plane_code_bits<W>(left, survivors) : 0));
    }
}

}  // namespace
}  // namespace planezip
