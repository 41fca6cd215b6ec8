// The stages in AVX-512 with VBMI2 and GFNI.
#pragma once

#include "avx512_bdi.h"
#include "avx512_read.h"
#include "avx512_sizes.h"
#include "avx512_write.h"
#include "portable.h"

namespace planezip {
namespace {

template <unsigned W>
struct Avx512 : Portable<W> {
    using Plane = typename Width<W>::Plane;
    static constexpr unsigned symbols = Width<W>::symbols;

    static void size_blocks(const uint8_t* src, unsigned blocks, unsigned encodings,
                            ChunkPlan& plan) {
        ChunkSizer<W> sizer(plan);
        const bool deltas = encodings & bit_of(kDbx), survivors = encodings & bit_of(kZbx);
        for (unsigned i = 0; i < blocks; ++i) {
            sizer.classify(src + i * kBlockBytes, i, deltas, survivors);
        }
        sizer.size(encodings);
    }

    static unsigned bdi_tag(const uint8_t* block) { return vector_bdi_tag(block); }

    // ---- writing

    static void put_bytes(BitWriter& out, const uint8_t* block, unsigned) {
        const Pair bytes = load_pair(block);
        put_vector(out, bytes.low, 512);
        put_vector(out, bytes.high, 512);
    }

    static Plane nonzero_mask(const uint8_t* block) { return nonzero_symbols<W>(load_pair(block)); }

    static void put_survivors(BitWriter& out, const uint8_t* block, Plane mask) {
        const Pair all = load_pair(block);
        const auto low = static_cast<uint32_t>(mask & low_bits<Plane>(symbols / 2));
        const auto high = static_cast<uint32_t>(mask >> symbols / 2);
        put_vector(out, compact(all.low, low), W * popcount(low));
        put_vector(out, compact(all.high, high), W * popcount(high));
    }

    static void write_symbol_planes(BitWriter& out, const uint8_t* block, PlaneClasses classes) {
        const Pair planes = symbols_to_planes<W>(load_pair(block));
        write_planes_of<W>(out, planes, 0, classes, symbols);
    }

    static void write_survivor_planes(BitWriter& out, const uint8_t* block, Plane mask,
                                      PlaneClasses classes) {
        const Pair planes = survivor_planes<W>(load_pair(block), mask);
        write_planes_of<W>(out, planes, 0, classes, popcount(mask));
    }

    static void write_delta_planes(BitWriter& out, const uint8_t* block, PlaneClasses classes) {
        Plane signs;
        const Pair deltas = to_deltas<W>(block, load_pair(block), signs);
        classes.set_top(W, signs, symbols - 1);
        write_planes_of<W + 1>(out, symbols_to_planes<W>(deltas), signs, classes, symbols - 1);
    }

    // ---- reading

    static void get_bytes(BitReader& in, uint8_t* bytes, unsigned count) {
        get_vectors(in, bytes, count);
    }

    static bool read_verbatim_rest(BitReader& in, uint8_t* to, unsigned left, unsigned width) {
        if (left > Portable<W>::most_verbatim) return false;
        return read_verbatim<W>(in, to, left, width);
    }

    static void restore_symbols(uint8_t* block) {
        store_pair(block, join_bytes<W>(restored_bytes<W>(block)));
    }

    static void restore_survivors(uint8_t* block, Plane mask) {
        const Pair bytes = restored_bytes<W>(block);
        store_pair(block, join_bytes<W>(
                              {expand_bytes(bytes.low, mask), expand_bytes(bytes.high, mask)}));
    }

    static void restore_deltas(uint8_t* block, typename Width<W>::Symbol base) {
        store_pair(block, undo_deltas(join_bytes<W>(restored_bytes<W>(block)), base));
    }

private:
    static Vector compact(Vector half, uint32_t mask) {
        return W == 16 ? _mm512_maskz_compress_epi16(mask, half)
                       : _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), half);
    }

    // The last planes, all verbatim, are written as vectors.
    template <unsigned P>
    static void write_planes_of(BitWriter& out, const Pair& planes, Plane top, const PlaneClasses& classes,
                                unsigned width) {
        alignas(64) Plane stored[W + 2];
        store_pair(stored, planes);
        stored[W] = top;
        stored[P] = 0;
        const unsigned last = width < 8 ? 0 : lowest_bit(~(classes.verbatim & low_bits<uint64_t>(W)));
        write_planes<P>(out, stored, classes, width, last);
        if (last) {
            const Pair xored = xor_planes<W>(planes, Lanes<W>::first(top));
            write_verbatim<W>(out, xored, stored[0] ^ stored[1], last, width);
        }
    }
};

}  // namespace
}  // namespace planezip
