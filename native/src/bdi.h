// Base-delta-immediate blocks: size, writer and reader (docs/format.md, "BDI").
#pragma once

#include "bit_io.h"
#include "format.h"

namespace planezip {
namespace {

enum BdiTag : unsigned { kBdiRaw, kBdiZeros, kBdiRepeated, kBdiFirstForm, kBdiTags = 9 };

// A form: elements of `base` bytes, each stored as a difference of `delta` bytes.
struct BdiForm {
    unsigned base, delta;

    constexpr unsigned elements() const { return kBlockBytes / base; }
    constexpr unsigned bits() const { return 8 * base + elements() * (1 + 8 * delta); }
};

// By tag, from kBdiFirstForm.
constexpr BdiForm kBdiForms[] = {{8, 1}, {8, 2}, {8, 4}, {4, 1}, {4, 2}, {2, 1}};

constexpr unsigned bdi_bits(unsigned tag) {
    return tag == kBdiRaw        ? kBlockBits
           : tag == kBdiZeros    ? 0
           : tag == kBdiRepeated ? 64
                                 : kBdiForms[tag - kBdiFirstForm].bits();
}

template <class Element>
inline Element bdi_element(const uint8_t* block, unsigned i) {
    return load<Element>(block + i * sizeof(Element));
}

// True if `difference`, as a two's-complement number, fits in Delta.
template <class Delta, class Element>
constexpr bool bdi_fits(Element difference) {
    constexpr Element half = Element{1} << (8 * sizeof(Delta) - 1);
    return static_cast<Element>(difference + half) < static_cast<Element>(2 * half);
}

// The base: the first element that does not fit by itself, or 0.
template <class Element, class Delta>
inline Element bdi_base(const uint8_t* block) {
    for (unsigned i = 0; i < kBlockBytes / sizeof(Element); ++i) {
        const auto element = bdi_element<Element>(block, i);
        if (!bdi_fits<Delta>(element)) return element;
    }
    return 0;
}

template <class Element, class Delta>
inline bool bdi_form_fits(const uint8_t* block) {
    const auto base = bdi_base<Element, Delta>(block);
    for (unsigned i = 0; i < kBlockBytes / sizeof(Element); ++i) {
        const auto element = bdi_element<Element>(block, i);
        if (!bdi_fits<Delta>(element) && !bdi_fits<Delta>(static_cast<Element>(element - base))) {
            return false;
        }
    }
    return true;
}

inline bool bdi_repeats(const uint8_t* block) {
    return std::memcmp(block, block + 8, kBlockBytes - 8) == 0;
}

// The tag of the smallest form for whose element and delta, given as zeros of these types, `fits` is
// true; the lowest of equals.
template <class Fits>
inline unsigned smallest_form(Fits fits) {
    // By size; forms of equal size by tag.
    if (fits(uint64_t{}, uint8_t{})) return 3;
    if (fits(uint32_t{}, uint8_t{})) return 6;
    if (fits(uint64_t{}, uint16_t{})) return 4;
    if (fits(uint32_t{}, uint16_t{})) return 7;
    if (fits(uint64_t{}, uint32_t{})) return 5;
    if (fits(uint16_t{}, uint8_t{})) return 8;
    return kBdiRaw;
}

// The tag that a block is stored under.
inline unsigned bdi_tag(const uint8_t* block) {
    if (bdi_repeats(block)) return load<uint64_t>(block) == 0 ? kBdiZeros : kBdiRepeated;
    return smallest_form([block](auto element, auto delta) {
        return bdi_form_fits<decltype(element), decltype(delta)>(block);
    });
}

template <class Element, class Delta>
inline void write_bdi_form(BitWriter& out, const uint8_t* block) {
    constexpr unsigned elements = kBlockBytes / sizeof(Element);
    const auto base = bdi_base<Element, Delta>(block);
    Delta deltas[elements];
    uint64_t mask = 0;
    for (unsigned i = 0; i < elements; ++i) {
        const auto element = bdi_element<Element>(block, i);
        const bool based = !bdi_fits<Delta>(element);
        mask |= uint64_t{based} << i;
        deltas[i] = static_cast<Delta>(based ? element - base : element);
    }
    out.put_long(base, 8 * sizeof(Element));
    out.put_long(mask, elements);
    for (Delta delta : deltas) out.put(delta, 8 * sizeof(Delta));
}

inline void write_bdi(BitWriter& out, unsigned tag, const uint8_t* block) {
    switch (tag) {
        case kBdiRaw: return out.put_bytes(block, kBlockBytes);
        case kBdiZeros: return;
        case kBdiRepeated: return out.put_long(load<uint64_t>(block), 64);
        case 3: return write_bdi_form<uint64_t, uint8_t>(out, block);
        case 4: return write_bdi_form<uint64_t, uint16_t>(out, block);
        case 5: return write_bdi_form<uint64_t, uint32_t>(out, block);
        case 6: return write_bdi_form<uint32_t, uint8_t>(out, block);
        case 7: return write_bdi_form<uint32_t, uint16_t>(out, block);
        case 8: return write_bdi_form<uint16_t, uint8_t>(out, block);
    }
}

inline const char* read_bdi_form(BitReader& in, BdiForm form, uint8_t* block) {
    const uint64_t base = in.get_long(8 * form.base);
    const uint64_t mask = in.get_long(form.elements());
    const uint64_t sign = uint64_t{1} << (8 * form.delta - 1);
    for (unsigned i = 0; i < form.elements(); ++i) {
        const uint64_t delta = (in.get(8 * form.delta) ^ sign) - sign;
        const uint64_t element = delta + (mask >> i & 1 ? base : 0);
        std::memcpy(block + i * form.base, &element, form.base);
    }
    return nullptr;
}

// Reads the block behind a tag; returns what is wrong, or null.
inline const char* read_bdi(BitReader& in, unsigned tag, uint8_t* block) {
    if (tag >= kBdiTags) return "a block has a reserved tag";
    if (tag >= kBdiFirstForm) return read_bdi_form(in, kBdiForms[tag - kBdiFirstForm], block);
    if (tag == kBdiRaw) {
        in.get_bytes(block, kBlockBytes);
        return nullptr;
    }
    const uint64_t value = tag == kBdiRepeated ? in.get_long(64) : 0;
    for (unsigned i = 0; i < kBlockBytes; i += 8) store(block + i, value);
    return nullptr;
}

}  // namespace
}  // namespace planezip
