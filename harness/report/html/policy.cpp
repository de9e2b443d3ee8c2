#include "harness/report/html/policy.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace claimcheck::report {
namespace {

std::string sha256_base64(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not available in OpenSSL");
  std::array<unsigned char, 64> base64{};
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return {base64.begin(), base64.begin() + length};
}

}  // namespace

std::string content_policy(const std::vector<std::string>& scripts) {
  std::string policy =
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src";
  for (const std::string& script : scripts) policy += " 'sha256-" + sha256_base64(script) + "'";
  return policy;
}

}  // namespace claimcheck::report
