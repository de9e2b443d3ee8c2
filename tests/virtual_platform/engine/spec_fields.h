// Reading one JSON object field by field; what nobody asked for is an error that names the nearest known key.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace virtual_platform {

class Fields {
 public:
  // `pointer` is the object's place in the document ("/gpu"), for messages. Throws when it is not an object.
  Fields(const nlohmann::json& object, std::string pointer);

  // Leaves `value` as it is when the key is absent.
  template <class T>
  void read(const char* key, T& value) {
    const nlohmann::json* found = find(key);
    if (found == nullptr) return;
    try {
      value = found->get<T>();
    } catch (const nlohmann::json::exception&) {
      wrong_type(key, *found);
    }
  }

  const nlohmann::json* find(const char* key);  // null when absent
  const nlohmann::json& object() const { return object_; }
  // Throws for a key that was never asked for.
  void finish() const;

 private:
  [[noreturn]] void wrong_type(const char* key, const nlohmann::json& value) const;

  const nlohmann::json& object_;
  std::string pointer_;
  std::vector<std::string_view> known_;
};

}  // namespace virtual_platform
