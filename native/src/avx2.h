// The stages in AVX2 and BMI2: sizes by the portable counting in wider vectors, planes by movemask,
// survivors by pext and pdep.
#pragma once

#include "avx2_read.h"
#include "portable.h"

namespace planezip {
namespace {

inline uint64_t extract(uint64_t x, uint64_t mask) { return _pext_u64(x, mask); }
inline uint32_t extract(uint32_t x, uint32_t mask) { return _pext_u32(x, mask); }
inline uint64_t deposit(uint64_t x, uint64_t mask) { return _pdep_u64(x, mask); }
inline uint32_t deposit(uint32_t x, uint32_t mask) { return _pdep_u32(x, mask); }

template <unsigned W>
struct Avx2 : Portable<W> {
    using Symbol = typename Width<W>::Symbol;
    using Plane = typename Width<W>::Plane;
    static constexpr unsigned symbols = Width<W>::symbols;

    // ---- writing

    static void put_survivors(BitWriter& out, const uint8_t* block, Plane mask) {
        for (unsigned i = 0; i < kBlockBytes; i += 8, mask = drop_word(mask)) {
            const uint64_t kept = word_mask(mask);
            out.put_long(_pext_u64(load<uint64_t>(block + i), kept), popcount(kept));
        }
    }

    static void write_symbol_planes(BitWriter& out, const uint8_t* block, PlaneClasses classes) {
        Plane planes[W + 1];
        block_to_planes<W>(block, planes);
        planes[W] = 0;
        write_planes<W>(out, planes, classes, symbols);
    }

    static void write_survivor_planes(BitWriter& out, const uint8_t* block, Plane mask,
                                      PlaneClasses classes) {
        Plane planes[W + 1];
        block_to_planes<W>(block, planes);
        for (unsigned b = 0; b < W; ++b) planes[b] = extract(planes[b], mask);
        planes[W] = 0;
        write_planes<W>(out, planes, classes, popcount(mask));
    }

    static void write_delta_planes(BitWriter& out, const uint8_t* block, PlaneClasses classes) {
        constexpr unsigned deltas = symbols - 1;
        Symbol delta[symbols];
        typename SymbolLanes<W>::Vector whole[kVectors];
        Plane planes[W + 2];
        to_deltas<W>(block, delta);
        std::memcpy(whole, block, sizeof whole);
        block_to_planes<W>(delta, planes);
        planes[W] = delta_signs(top_bits<W>(whole), planes[W - 1], deltas);
        planes[W + 1] = 0;
        classes.set_top(W, planes[W], deltas);
        write_planes<W + 1>(out, planes, classes, deltas);
    }

    // ---- reading

    static bool read_verbatim_rest(BitReader& in, uint8_t* to, unsigned left, unsigned width) {
        constexpr unsigned lanes = sizeof(Vector) / sizeof(Plane);
        if (width != symbols || left < lanes || left > Portable<W>::most_verbatim) return false;
        // Calls visit(first, from, shift) for groups of codes; the last ends with the planes.
        const auto for_groups = [&](auto visit) {
            for (unsigned first = 0; first < left; first += lanes) {
                if (first > left - lanes) first = left - lanes;
                const unsigned at = in.shift() + first * (width + 1);
                visit(first, in.next() + at / 8, at % 8);
            }
        };
        const std::integral_constant<unsigned, W> bits;
        Vector missing = _mm256_setzero_si256();
        for_groups([&](unsigned, const uint8_t* from, unsigned shift) {
            missing = _mm256_or_si256(missing, missing_flags(bits, from, shift));
        });
        if (!_mm256_testz_si256(missing, missing)) return false;
        for_groups([&](unsigned first, const uint8_t* from, unsigned shift) {
            store_vector(to + first * sizeof(Plane), flagged_planes(bits, from, shift));
        });
        in.skip(left * (width + 1));
        return true;
    }

    static void restore_symbols(uint8_t* block) {
        Vector planes[kVectors], restored[kVectors];
        for (unsigned i = 0; i < kVectors; ++i) planes[i] = load_vector(block + 32 * i);
        planes_to_vectors<W>(planes, restored);
        store_block(block, restored);
    }

    static void restore_survivors(uint8_t* block, Plane mask) {
        Vector planes[kVectors], restored[kVectors];
        const auto word = [&](unsigned i) {
            const uint64_t two = load<uint64_t>(block + 8 * i);
            if (W == 16) return uint64_t{deposit(static_cast<Plane>(two), mask)};
            const uint64_t second = deposit(static_cast<Plane>(two >> 32), mask);
            return second << 32 | deposit(static_cast<Plane>(two), mask);
        };
        for (unsigned i = 0; i < kVectors; ++i) {
            planes[i] = words(word(4 * i), word(4 * i + 1), word(4 * i + 2), word(4 * i + 3));
        }
        planes_to_vectors<W>(planes, restored);
        store_block(block, restored);
    }

    static void restore_deltas(uint8_t* block, Symbol base) {
        Vector planes[kVectors], restored[kVectors];
        for (unsigned i = 0; i < kVectors; ++i) planes[i] = load_vector(block + 32 * i);
        planes_to_vectors<W>(planes, restored);
        undo_deltas(base, restored);
        store_block(block, restored);
    }

    static void expand(uint8_t* block, Plane mask) {
        uint8_t survivors[kBlockBytes + 8];
        std::memcpy(survivors, block, kBlockBytes);
        const uint8_t* next = survivors;
        for (unsigned i = 0; i < kBlockBytes; i += 8, mask = drop_word(mask)) {
            const uint64_t kept = word_mask(mask);
            store(block + i, _pdep_u64(load<uint64_t>(next), kept));
            next += popcount(kept) / 8;
        }
    }

private:
    // The bits of the symbols in a 64-bit word that the lowest bits of the mask are about.
    static uint64_t word_mask(Plane mask) {
        constexpr uint64_t lowest = ~uint64_t{0} / low_bits<uint64_t>(W);
        return _pdep_u64(mask, lowest) * low_bits<uint64_t>(W);
    }
    static Plane drop_word(Plane mask) { return mask >> 64 / W; }

    static void store_block(uint8_t* block, const Vector* vectors) {
        for (unsigned i = 0; i < kVectors; ++i) store_vector(block + 32 * i, vectors[i]);
    }
};

}  // namespace
}  // namespace planezip
