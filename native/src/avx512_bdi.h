// Which BDI form a block fits, in AVX-512.
#pragma once

#include "avx512_planes.h"
#include "bdi.h"

namespace planezip {
namespace {

// Operations on the elements of half a block.
template <class Element>
struct Elements;

template <>
struct Elements<uint64_t> {
    static Vector set(uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
    static Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
    static uint32_t not_less(Vector a, Vector b) { return _mm512_cmpge_epu64_mask(a, b); }
};

template <>
struct Elements<uint32_t> {
    static Vector set(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
    static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
    static uint32_t not_less(Vector a, Vector b) { return _mm512_cmpge_epu32_mask(a, b); }
};

template <>
struct Elements<uint16_t> {
    static Vector set(uint16_t x) { return _mm512_set1_epi16(static_cast<short>(x)); }
    static Vector add(Vector a, Vector b) { return _mm512_add_epi16(a, b); }
    static uint32_t not_less(Vector a, Vector b) { return _mm512_cmpge_epu16_mask(a, b); }
};

template <class Element, class Delta>
inline bool vectors_fit(const Pair& elements, const uint8_t* block) {
    using E = Elements<Element>;
    constexpr unsigned count = sizeof(Vector) / sizeof(Element);
    constexpr Element half = Element{1} << (8 * sizeof(Delta) - 1);
    const Vector limit = E::set(2 * half);
    // The elements that do not fit as differences to `base`.
    const auto misfits = [&](Element base) {
        const Vector shift = E::set(static_cast<Element>(half - base));
        return uint64_t{E::not_less(E::add(elements.low, shift), limit)} |
               uint64_t{E::not_less(E::add(elements.high, shift), limit)} << count;
    };
    const uint64_t based = misfits(0);
    if (based == 0) return true;
    return (based & misfits(bdi_element<Element>(block, lowest_bit(based)))) == 0;
}

// See bdi_tag.
inline unsigned vector_bdi_tag(const uint8_t* block) {
    const Pair elements = load_pair(block);
    const Vector first = _mm512_broadcastq_epi64(_mm512_castsi512_si128(elements.low));
    if ((_mm512_cmpneq_epi64_mask(elements.low, first) |
         _mm512_cmpneq_epi64_mask(elements.high, first)) == 0) {
        return load<uint64_t>(block) == 0 ? kBdiZeros : kBdiRepeated;
    }
    return smallest_form([&](auto element, auto delta) {
        return vectors_fit<decltype(element), decltype(delta)>(elements, block);
    });
}

}  // namespace
}  // namespace planezip
