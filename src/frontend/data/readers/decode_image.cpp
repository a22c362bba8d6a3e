#include "frontend/data/readers/decode_image.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/plain_text.h"

namespace partita {
namespace {

constexpr int64_t kMaxBytes = int64_t{256} << 20;
constexpr int64_t kMaxPixels = int64_t{1} << 28;
constexpr int64_t kMaxJpegRatio = 512;      // six blocks of 256 pixels have at least a bit each
constexpr int64_t kMaxPngRatio = 8 * 1032;  // eight pixels in a byte, which deflate makes 1032 times smaller at best
constexpr int64_t kChannels = 3;

std::vector<uint8_t> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw MissingFile("[images] a file cannot be opened, got '{}', expected an image", path.string());
  const auto size = static_cast<int64_t>(file.tellg());
  if (size < 0 || size > kMaxBytes) {
    throw InvalidFile("[images] not an image, got {} bytes in '{}', expected at most {}", size, path.string(),
                      kMaxBytes);
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!file)
    throw InvalidFile("[images] cannot be read, got {} of {} bytes of '{}'", file.gcount(), size, path.string());
  return bytes;
}

[[noreturn]] void refuse_image(const std::filesystem::path& path, std::string_view reason) {
  throw InvalidFile("[images] a damaged image, got '{}' in '{}', expected a JPEG or PNG file", reason, path.string());
}

/// Makes room for pixels, of which no file has more than `ratio` in a byte: headers may say anything.
Array pixels_of(const std::filesystem::path& path, int64_t height, int64_t width, int64_t bytes, int64_t ratio) {
  if (height < 1 || width < 1 || height > std::min(kMaxPixels, bytes * ratio) / width) {
    refuse_image(path, fmt::format("{} x {} pixels", height, width));
  }
  return Array(Type{DType::u8, {height, width, kChannels}});
}

struct FreeDecoder {
  void operator()(void* decoder) const { tjDestroy(decoder); }
};

Array decode_jpeg(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  const std::unique_ptr<void, FreeDecoder> decoder(tjInitDecompress());
  PARTITA_CHECK(decoder, "no decoder of JPEG files");
  int width = 0, height = 0, sampling = 0, colours = 0;
  const auto size = static_cast<unsigned long>(bytes.size());  // NOLINT: the library's type
  if (tjDecompressHeader3(decoder.get(), bytes.data(), size, &width, &height, &sampling, &colours) != 0) {
    refuse_image(path, tjGetErrorStr2(decoder.get()));
  }
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) refuse_image(path, "colours for printing (CMYK)");
  Array image = pixels_of(path, height, width, static_cast<int64_t>(bytes.size()), kMaxJpegRatio);
  const int flags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING;
  if (tjDecompress2(decoder.get(), bytes.data(), size, image.as<uint8_t>(), width, 0, height, TJPF_RGB, flags) != 0) {
    refuse_image(path, tjGetErrorStr2(decoder.get()));
  }
  return image;
}

struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

Array decode_png(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  PngImage png;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) refuse_image(path, png.message);
  Array image = pixels_of(path, png.height, png.width, static_cast<int64_t>(bytes.size()), kMaxPngRatio);
  png.format = PNG_FORMAT_RGB;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // samples of 16 bits are those of 8 bits, more finely
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&png, &black, image.as<uint8_t>(), 0, nullptr) == 0) refuse_image(path, png.message);
  return image;
}

}  // namespace

bool is_image_name(const std::filesystem::path& path) {
  const std::string ending = lower_case(path.extension().string());
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

Array decode_image(const std::filesystem::path& path) {
  const std::vector<uint8_t> bytes = bytes_of(path);
  constexpr uint8_t kJpeg[] = {0xff, 0xd8}, kPng[] = {0x89, 'P', 'N', 'G'};
  if (bytes.size() > 2 && std::memcmp(bytes.data(), kJpeg, sizeof(kJpeg)) == 0) return decode_jpeg(path, bytes);
  if (bytes.size() > 4 && std::memcmp(bytes.data(), kPng, sizeof(kPng)) == 0) return decode_png(path, bytes);
  refuse_image(path, "another kind of file");
}

}  // namespace partita
