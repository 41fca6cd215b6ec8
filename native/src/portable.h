// The stages of a level in portable C++: what they mean, and what a level runs that has nothing
// faster.
#pragma once

#include "bdi.h"
#include "level.h"
#include "sizes.h"
#include "transpose.h"

namespace planezip {
namespace {

template <unsigned W>
struct Portable {
    using Symbol = typename Width<W>::Symbol;
    using Plane = typename Width<W>::Plane;
    static constexpr unsigned width = W;
    static constexpr unsigned symbols = Width<W>::symbols;

    // Sizes blocks under ZVC and the encodings asked for.
    static void size_blocks(const uint8_t* src, unsigned blocks, unsigned encodings,
                            ChunkPlan& plan) {
        for (unsigned i = 0; i < blocks; ++i) {
            size_block<W>(src + i * kBlockBytes, encodings, i, plan);
        }
    }

    // The tag of the codec bdi.
    static unsigned bdi_tag(const uint8_t* block) { return planezip::bdi_tag(block); }

    // ---- writing; `classes` are what size_blocks() left in the plan

    static void put_bytes(BitWriter& out, const uint8_t* bytes, unsigned count) {
        out.put_bytes(bytes, count);
    }

    static Plane nonzero_mask(const uint8_t* block) { return planezip::nonzero_mask<W>(block); }

    static void put_survivors(BitWriter& out, const uint8_t* block, Plane mask) {
        Symbol survivors[symbols + sizeof(uint64_t) / sizeof(Symbol)];  // put_bytes() reads beyond
        const unsigned count = compact<W>(block, mask, survivors);
        out.put_bytes(reinterpret_cast<const uint8_t*>(survivors), count * sizeof(Symbol));
    }

    static void write_symbol_planes(BitWriter& out, const uint8_t* block, PlaneClasses classes) {
        write_planes_of(out, block, classes, symbols);
    }

    static void write_survivor_planes(BitWriter& out, const uint8_t* block, Plane mask,
                                      PlaneClasses classes) {
        Symbol survivors[symbols];
        const unsigned count = compact<W>(block, mask, survivors);
        std::memset(survivors + count, 0, (symbols - count) * sizeof *survivors);
        write_planes_of(out, survivors, classes, count);
    }

    static void write_delta_planes(BitWriter& out, const uint8_t* block, PlaneClasses classes) {
        Symbol deltas[symbols];
        Plane planes[W + 2], symbol_planes[W];
        to_deltas<W>(block, deltas);
        symbols_to_planes(deltas, planes);
        symbols_to_planes(block, symbol_planes);
        planes[W] = delta_signs(symbol_planes[W - 1], planes[W - 1], symbols - 1);
        planes[W + 1] = 0;
        classes.set_top(W, planes[W], symbols - 1);
        write_planes<W + 1>(out, planes, classes, symbols - 1);
    }

    // ---- reading

    static void get_bytes(BitReader& in, uint8_t* bytes, unsigned count) {
        in.get_bytes(bytes, count);
    }

    // The top planes are seldom followed by verbatim ones only.
    static constexpr unsigned most_verbatim = W == 16 ? 12 : 26;

    // If it can see that all `left` planes at hand are verbatim, reads them. False: nothing was
    // read, one or more may be verbatim.
    static bool read_verbatim_rest(BitReader&, uint8_t*, unsigned, unsigned) { return false; }

    static void restore_symbols(uint8_t* block) { restore_to(block, block); }

    static void restore_survivors(uint8_t* block, Plane mask) {
        Symbol survivors[symbols];
        restore_to(block, survivors);
        planezip::expand<W>(survivors, mask, block);
    }

    static void restore_deltas(uint8_t* block, Symbol base) {
        Symbol deltas[symbols];
        restore_to(block, deltas);
        from_deltas<W>(base, deltas, block);
    }

    // Moves survivors at the front of the block to their places.
    static void expand(uint8_t* block, Plane mask) {
        Symbol survivors[symbols];
        std::memcpy(survivors, block, kBlockBytes);
        planezip::expand<W>(survivors, mask, block);
    }

private:
    static void write_planes_of(BitWriter& out, const void* numbers, const PlaneClasses& classes,
                                unsigned count) {
        Plane planes[W + 1];
        symbols_to_planes(numbers, planes);
        planes[W] = 0;
        write_planes<W>(out, planes, classes, count);
    }

    // Numbers from their XORed planes, top down.
    static void restore_to(const uint8_t* xored, void* numbers) {
        Plane planes[W], above = 0;
        for (unsigned b = W; b-- > 0;) {
            above ^= load<Plane>(xored + (W - 1 - b) * sizeof(Plane));
            planes[b] = above;
        }
        planes_to_symbols(planes, numbers);
    }
};

}  // namespace
}  // namespace planezip
