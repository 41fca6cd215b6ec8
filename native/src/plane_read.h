// The reader of the planes of one block; plane_code.h has the code.
#pragma once

#include "plane_code.h"

namespace planezip {
namespace {

// Takes the rest of a plane's code, which begins with 0, off `in`. Returns the XORed plane, and the
// number of planes in `run` (0: the code is not valid); `above` is the plane above, before the XOR.
template <unsigned P, class Plane>
inline Plane read_short_code(BitReader& in, Plane above, unsigned width, unsigned& run) {
    const uint64_t next = in.peek();
    run = 1;
    if (next & 0b10) {
        constexpr unsigned field = field_bits(P - 1);
        in.skip(kRunCodeBits + field);
        run = 2 + static_cast<unsigned>(next >> kRunCodeBits & low_bits<uint64_t>(field));
        return 0;
    }
    if (next & 0b100) {
        in.skip(kZeroCodeBits);
        return 0;
    }
    const uint64_t code = next & low_bits<uint64_t>(kLongCodeBits);
    if (code == kOnesCode || code == kPreXorZeroCode) {
        in.skip(kLongCodeBits);
        return code == kOnesCode ? low_bits<Plane>(width) : above;
    }
    const unsigned position_bits = field_bits(width);
    const unsigned ones = code == kPairCode ? 2 : 1;
    const unsigned position =
        static_cast<unsigned>(next >> kLongCodeBits & low_bits<uint64_t>(position_bits));
    in.skip(kLongCodeBits + position_bits);
    if (position + ones > width) run = 0;
    return static_cast<Plane>(uint64_t{low_bits<Plane>(ones)} << position);
}

// Reads P planes of `width` bits and stores them, XORed, from the top down in a block. Of W + 1
// planes the top one is dropped: the one below it is stored as it is. Returns what is wrong, or
// null.
template <class Stages, unsigned P>
inline const char* read_planes(BitReader& from, uint8_t* block, unsigned width) {
    BitReader in = from;  // not known to others, so kept in registers
    using Plane = typename Width<Stages::width>::Plane;
    constexpr unsigned stored = Stages::width;
    const Plane full = low_bits<Plane>(width);
    Plane above = 0, dropped = 0;  // the plane that is not stored
    std::memset(block, 0, kBlockBytes);
    for (unsigned left = P; left > 0;) {
        uint8_t* const to = block + (stored - left) * sizeof(Plane);
        const bool kept = P == stored || left <= stored;
        const uint64_t next = in.peek();
        Plane x;
        unsigned run = 1;
        if (next & 1) {
            if (kept && Stages::read_verbatim_rest(in, to, left, width)) break;
            in.skip(1);
            x = static_cast<Plane>(next >> 1) & full;
            if (width >= kPutBits) {  // more than peek() holds beside the flag
                x = static_cast<Plane>(in.get_long(width));
            } else {
                in.skip(width);
            }
        } else {
            x = read_short_code<P>(in, above, width, run);
            if (run == 0) return "a position lies outside its plane";
            if (run > left) return "a run of zero planes goes past the last plane";
        }
        if (kept) {
            store(to, x);
        } else {
            dropped = x;
        }
        above ^= x;
        left -= run;
    }
    from = in;
    if (P != stored) store(block, static_cast<Plane>(load<Plane>(block) ^ dropped));
    return nullptr;
}

}  // namespace
}  // namespace planezip
