# Included after project() when interface packages are built next to the ROS wheels: leaves out
# the C++ bindings, which no Python node loads and which take half of the build time.
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
