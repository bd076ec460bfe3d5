package confine

// nativeArch is how the kernel names this machine to a filter.
const nativeArch = 0xc00000b7
