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
    if (encodings & bit_of(kDbx)) {
        set(kDbx, W + plane_code_bits<W + 1>(delta_classes<W>(block), N - 1));
    }
    const SymbolCounts<W> found = count_symbols<W>(block);
    set(kZvc, N + W * found.survivors);
    unsigned bx = 0;
    if (encodings & (bit_of(kBx) | bit_of(kZbx))) {
        bx = plane_code_bits<W>(found.planes.classes(), N);
        set(kBx, bx);
    }
    if (!(encodings & bit_of(kZbx))) return;
    if (found.survivors == N) {
        set(kZbx, N + bx);  // nothing to remove: the planes of BX
    } else if (found.survivors == 0) {
        set(kZbx, N);
    } else {
        const PlaneClasses planes = survivor_classes<W>(block, found);
        set(kZbx, N + plane_code_bits<W>(planes, found.survivors));
    }
}

}  // namespace
}  // namespace planezip
