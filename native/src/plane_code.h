// The prefix code of the planes of one block: its size and its writer.
//
// `planes` are pre-XOR, planes[b] for weight 2^b, P of them, each `width` >= 1 bits. Codes go from
// the top plane down.
#pragma once

#include "bit_io.h"
#include "format.h"
#include "level.h"

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
    uint64_t nonzero;   // the XORed plane is not zero
    uint64_t coded;     // and takes more than five bits
    uint64_t verbatim;  // and is stored verbatim

    // Sets plane b, which has none above.
    template <class Plane>
    void set_top(unsigned b, Plane plane, unsigned width) {
        const bool is_coded = plane != 0 && plane != low_bits<Plane>(width);
        nonzero |= uint64_t{plane != 0} << b;
        coded |= uint64_t{is_coded} << b;
        verbatim |= uint64_t{is_coded && !one_or_pair(plane)} << b;
    }
};

// The classes that a plan keeps of a block.
inline PlaneClasses classes_of(const ChunkClasses& classes, unsigned i) {
    return {classes.nonzero[i], classes.coded[i], classes.verbatim[i]};
}

// The bits that write_planes() takes for P planes of `width` bits.
template <unsigned P>
inline unsigned plane_code_bits(const PlaneClasses& planes, unsigned width) {
    const uint64_t zero = ~planes.nonzero & low_bits<uint64_t>(P);
    const uint64_t run_starts = zero & ~(zero << 1);
    const uint64_t alone = run_starts & ~(zero >> 1);
    constexpr unsigned run_bits = kRunCodeBits + field_bits(P - 1);
    return popcount(planes.verbatim) * (1 + width) +
           popcount(planes.coded ^ planes.verbatim) * (kLongCodeBits + field_bits(width)) +
           popcount(planes.nonzero ^ planes.coded) * kLongCodeBits +
           popcount(run_starts ^ alone) * run_bits + popcount(alone) * kZeroCodeBits;
}

struct Code {
    uint8_t bits, count;
};

// By length, the codes of runs of zero planes; no bits for length 0.
template <unsigned P>
struct RunCodes {
    Code codes[P + 1] = {};

    constexpr RunCodes() {
        codes[1] = {kZeroCode, kZeroCodeBits};
        for (unsigned r = 2; r <= P; ++r) {
            codes[r] = {static_cast<uint8_t>(kRunCode | (r - 2) << kRunCodeBits),
                        kRunCodeBits + field_bits(P - 1)};
        }
    }
};

// The code of an XORed plane that is neither zero nor verbatim.
template <class Plane>
inline uint64_t short_code(Plane x, bool coded, Plane full) {
    const uint64_t kind = (x & (x - 1)) == 0 ? kSingleCode : kPairCode;
    // Not even if the contents change under us is the lowest bit of zero asked for.
    constexpr Plane top = Plane{1} << (8 * sizeof(Plane) - 1);
    const uint64_t with_position = kind | uint64_t{lowest_bit(x | top)} << kLongCodeBits;
    const uint64_t five_bits = x == full ? kOnesCode : kPreXorZeroCode;
    return coded ? with_position : five_bits;
}

inline void put_verbatim(BitWriter& out, Code run, uint64_t x, unsigned width) {
    if (run.count) out.put(run.bits, run.count);
    out.put_flagged(x, width);
}
inline void put_verbatim(BitWriter& out, Code run, uint32_t x, unsigned width) {
    out.put(run.bits | (uint64_t{x} << 1 | 1) << run.count, run.count + 1 + width);
}

// Writes P planes down to plane `lowest`; the one below that, if any, is not zero if XORed.
// planes[P] is the zero that the top plane is XORed with.
template <unsigned P, class Plane>
inline void write_planes(BitWriter& out, const Plane* planes, const PlaneClasses& classes,
                         unsigned width, unsigned lowest = 0) {
    static constexpr RunCodes<P> runs;
    const Plane full = low_bits<Plane>(width);
    const unsigned position_bits = field_bits(width);
    const unsigned tail = lowest_bit(~classes.verbatim);  // begins what is verbatim down to the end
    const unsigned head = tail < lowest ? lowest : tail;
    unsigned above = P;
    for (uint64_t left = classes.nonzero >> head << head; left != 0;) {
        const unsigned b = highest_bit(left);
        left ^= uint64_t{1} << b;
        const Plane x = planes[b] ^ planes[b + 1];
        const Code run = runs.codes[above - b - 1];
        above = b;
        if (classes.verbatim >> b & 1) {
            put_verbatim(out, run, x, width);
        } else {
            const bool coded = classes.coded >> b & 1;
            out.put(run.bits | short_code(x, coded, full) << run.count,
                    run.count + kLongCodeBits + (coded ? position_bits : 0));
        }
    }
    const Code run = runs.codes[above - head];
    out.put(run.bits, run.count);
    for (unsigned b = head; b-- > lowest;) {
        put_verbatim(out, Code{}, planes[b] ^ planes[b + 1], width);
    }
}

}  // namespace
}  // namespace planezip
