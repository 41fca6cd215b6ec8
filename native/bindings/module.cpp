// Registers the engine's functions with Python; src/planezip/_native.pyi types them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "bytes_builder.h"
#include "planezip.h"
#include "register.h"
#include "unlocked.h"

namespace nb = nanobind;
using namespace planezip;

namespace {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Writable = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;
using WritableBytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A number of bytes that no contents have; what() says so.
struct ImpossibleSize : std::runtime_error {
    using std::runtime_error::runtime_error;
};

Coding coding(unsigned codec, unsigned symbol_bits) {
    if (codec >= kCodecs || (symbol_bits != 16 && symbol_bits != 32)) {
        throw nb::value_error("no such codec or symbol width");
    }
    return {static_cast<Codec>(codec), symbol_bits};
}

void require_positive(size_t count) {
    if (count == 0) throw nb::value_error("threads and stride are at least 1");
}

// As encode_bound(), of a number as large as Python's can be.
size_t bound_of(const nb::int_& size_bytes) {
    const Py_ssize_t size = PyLong_AsSsize_t(size_bytes.ptr());
    if (size < 0) {
        PyErr_Clear();  // of a number that is no Py_ssize_t
        throw ImpossibleSize(std::string("size_bytes is ") + nb::str(size_bytes).c_str() +
                             "; it can be 0 to 2**63 - 1");
    }
    return encode_bound(static_cast<size_t>(size));
}

size_t encode_array(const Bytes& src, unsigned codec, unsigned symbol_bits, unsigned threads,
                    const WritableBytes& dst) {
    const Coding how = coding(codec, symbol_bits);
    require_positive(threads);
    if (dst.size() < encode_bound(src.size())) {
        throw nb::value_error("dst must have encode_bound() bytes");
    }
    const Unlocked unlocked;
    return encode(src.data(), src.size(), how, threads, dst.data());
}

// As encode_array, into a new bytes object.
nb::bytes encode_bytes(const Bytes& src, unsigned codec, unsigned symbol_bits, unsigned threads) {
    const Coding how = coding(codec, symbol_bits);
    require_positive(threads);
    BytesBuilder built(encode_bound(src.size()));
    size_t size;
    {
        const Unlocked unlocked;
        size = encode(src.data(), src.size(), how, threads, built.data());
    }
    return built.finish(size);
}

void check_array(const Bytes& stream, size_t bytes) {
    const Unlocked unlocked;
    check_chunks(stream.data(), stream.size(), bytes);
}

size_t span_array(const Bytes& stream, size_t bytes) {
    const Unlocked unlocked;
    return span_chunks(stream.data(), stream.size(), bytes);
}

void decode_array(const Bytes& stream, unsigned codec, unsigned symbol_bits, unsigned threads,
                  const WritableBytes& dst) {
    const Coding how = coding(codec, symbol_bits);
    require_positive(threads);
    const Unlocked unlocked;
    decode(stream.data(), stream.size(), how, threads, dst.data(), dst.size());
}

nb::list as_list(const uint64_t* counts, unsigned size) {
    nb::list list;
    for (unsigned i = 0; i < size; ++i) list.append(counts[i]);
    return list;
}

nb::tuple inspect_array(const Bytes& stream, unsigned codec, unsigned symbol_bits, size_t bytes) {
    const Coding how = coding(codec, symbol_bits);
    Contents found;
    {
        const Unlocked unlocked;
        found = inspect(stream.data(), stream.size(), how, bytes);
    }
    return nb::make_tuple(as_list(found.tag_blocks, kTags), found.raw_chunks, found.encoded_chunks);
}

nb::tuple measure_array(const Bytes& src, unsigned symbol_bits, unsigned codecs, size_t stride,
                        unsigned threads) {
    coding(0, symbol_bits);
    require_positive(threads);
    require_positive(stride);
    Sizes found;
    {
        const Unlocked unlocked;
        found = measure(src.data(), src.size(), symbol_bits, codecs, stride, threads);
    }
    return nb::make_tuple(found.raw_bytes, as_list(found.wire_bytes, kCodecs),
                          as_list(found.encoder_blocks, kEncoders));
}

void set_error(const char* kind, const std::exception& error) {
    const nb::object type = nb::module_::import_("planezip.errors").attr(kind);
    PyErr_SetString(type.ptr(), error.what());
}

void raise_ours(const std::exception_ptr& error, void*) {
    try {
        std::rethrow_exception(error);
    } catch (const CorruptStream& corrupt) {
        set_error("CorruptStreamError", corrupt);
    } catch (const UnusableLevel& unusable) {
        set_error("InputError", unusable);
    } catch (const ImpossibleSize& impossible) {
        set_error("InputError", impossible);
    }
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The native parts of PlaneZip: the codec engine, and trials of plans.";
    // Threads that are in the engine when the interpreter ends keep what they were given.
    nb::set_leak_warnings(false);
    nb::register_exception_translator(raise_ours);
    m.def("encode_bound", bound_of, nb::arg("bytes"));
    m.def("level", level_name);
    m.def("levels", level_names);
    m.def("use_level", use_level, nb::arg("name"));
    m.def("encode", encode_array, nb::arg("src").noconvert(), nb::arg("codec"),
          nb::arg("symbol_bits"), nb::arg("threads"), nb::arg("dst").noconvert());
    m.def("encode_bytes", encode_bytes, nb::arg("src").noconvert(), nb::arg("codec"),
          nb::arg("symbol_bits"), nb::arg("threads"));
    m.def("check_chunks", check_array, nb::arg("stream").noconvert(), nb::arg("bytes"));
    m.def("span_chunks", span_array, nb::arg("stream").noconvert(), nb::arg("bytes"));
    m.def("decode", decode_array, nb::arg("stream").noconvert(), nb::arg("codec"),
          nb::arg("symbol_bits"), nb::arg("threads"), nb::arg("dst").noconvert());
    m.def("inspect", inspect_array, nb::arg("stream").noconvert(), nb::arg("codec"),
          nb::arg("symbol_bits"), nb::arg("bytes"));
    m.def("measure", measure_array, nb::arg("src").noconvert(), nb::arg("symbol_bits"),
          nb::arg("codecs"), nb::arg("stride"), nb::arg("threads"));
    nb::class_<BytesBuilder>(m, "BytesBuilder")
        .def(nb::init<size_t>(), nb::arg("size"))
        .def("memory",
             [](BytesBuilder& self) { return Writable(self.data(), {self.size()}, nb::find(self)); })
        .def("finish", &BytesBuilder::finish, nb::arg("size"));
    register_trial(m);
}
