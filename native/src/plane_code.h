// The prefix code of the planes of one block: its size, its writer and its reader side by side.
//
// `planes` are pre-XOR, planes[b] for weight 2^b, P of them, each `width` >= 1 bits. Codes go from
// the top plane down.
#pragma once

#include "bit_io.h"
#include "format.h"

namespace planezip {
namespace {

// Codes as written: first bit lowest.
constexpr uint64_t kRunCode = 0b10, kZeroCode = 0b100;
constexpr uint64_t kOnesCode = 0b00000, kPreXorZeroCode = 0b10000;
constexpr uint64_t kSingleCode = 0b11000, kPairCode = 0b01000;
constexpr unsigned kRunCodeBits = 2, kZeroCodeBits = 3, kLongCodeBits = 5;

// True if x != 0 has a single one, or two and adjacent.
template <class Plane>
constexpr bool one_or_pair(Plane x) {
    const Plane lowest = x & (Plane{0} - x);
    return (x & ~lowest & ~static_cast<Plane>(lowest << 1)) == 0;
}

// What decides the codes of planes: bit b of each member is about plane b.
struct PlaneClasses {
    uint64_t nonzero;      // the XORed plane is not zero
    uint64_t full;         // it is all ones
    uint64_t pre_nonzero;  // the plane is not zero before the XOR
    uint64_t one_or_pair;  // the XORed plane has a single one, or two, adjacent; any if it is zero

    // Sets plane b, which has none above.
    template <class Plane>
    void set_top(unsigned b, Plane plane, unsigned width) {
        nonzero |= uint64_t{plane != 0} << b;
        full |= uint64_t{plane == low_bits<Plane>(width)} << b;
        pre_nonzero |= uint64_t{plane != 0} << b;
        one_or_pair |= uint64_t{planezip::one_or_pair(plane)} << b;
    }
};

// The bits that write_planes() takes for P planes of `width` bits.
template <unsigned P>
inline unsigned plane_code_bits(const PlaneClasses& planes, unsigned width) {
    const uint64_t zero = ~planes.nonzero & low_bits<uint64_t>(P);
    const uint64_t five_bits = (planes.full | ~planes.pre_nonzero) & planes.nonzero;
    const uint64_t position = planes.one_or_pair & planes.nonzero & ~five_bits;
    const uint64_t verbatim = planes.nonzero & ~five_bits & ~position;
    const uint64_t run_starts = zero & ~(zero << 1);
    const uint64_t alone = run_starts & ~(zero >> 1);
    constexpr unsigned run_bits = kRunCodeBits + field_bits(P - 1);
    return popcount(verbatim) * (1 + width) +
           popcount(position) * (kLongCodeBits + field_bits(width)) +
           popcount(five_bits) * kLongCodeBits + popcount(run_starts ^ alone) * run_bits +
           popcount(alone) * kZeroCodeBits;
}

// Writes the planes down to plane `lowest`; the one below that, if any, is not zero if XORed.
// planes[P] is the zero that the top plane is XORed with.
template <unsigned P, class Plane>
inline void write_planes(BitWriter& out, const Plane* planes, unsigned width, unsigned lowest = 0) {
    const Plane full = low_bits<Plane>(width);
    const unsigned position_bits = field_bits(width);
    for (unsigned b = P; b-- > lowest;) {
        const Plane x = planes[b] ^ planes[b + 1];
        if (x == 0) {
            unsigned run = 1;
            while (b > lowest && planes[b - 1] == planes[b]) --b, ++run;
            if (run == 1) {
                out.put(kZeroCode, kZeroCodeBits);
            } else {
                constexpr unsigned field = field_bits(P - 1);
                out.put(kRunCode | (run - 2) << kRunCodeBits, kRunCodeBits + field);
            }
        } else if (x == full) {
            out.put(kOnesCode, kLongCodeBits);
        } else if (planes[b] == 0) {
            out.put(kPreXorZeroCode, kLongCodeBits);
        } else if (one_or_pair(x)) {
            const uint64_t code = (x & (x - 1)) == 0 ? kSingleCode : kPairCode;
            out.put(code | uint64_t{lowest_bit(x)} << kLongCodeBits, kLongCodeBits + position_bits);
        } else if (width < kPutBits) {
            out.put(1 | uint64_t{x} << 1, 1 + width);
        } else {
            out.put(1 | (uint64_t{x} & 0xFFFFFFFF) << 1, 33);
            out.put(uint64_t{x} >> 32, width - 32);
        }
    }
}

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

// read_planes() for widths that one peek() holds beside the flag, and for all (kLong).
template <class Stages, unsigned P, bool kLong>
inline const char* read_planes_of(BitReader& in, uint8_t* block, unsigned width) {
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
            x = static_cast<Plane>(kLong ? in.get_long(width) : next >> 1 & full);
            if (!kLong) in.skip(width);
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
    if (P != stored) store(block, static_cast<Plane>(load<Plane>(block) ^ dropped));
    return nullptr;
}

// Reads P planes of `width` bits and stores them, XORed, from the top down in a block. Of W + 1
// planes the top one is dropped: the one below it is stored as it is. Returns what is wrong, or null.
template <class Stages, unsigned P>
inline const char* read_planes(BitReader& in, uint8_t* block, unsigned width) {
    return width < kPutBits ? read_planes_of<Stages, P, false>(in, block, width)
                            : read_planes_of<Stages, P, true>(in, block, width);
}

}  // namespace
}  // namespace planezip
