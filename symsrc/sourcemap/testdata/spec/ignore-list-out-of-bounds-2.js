//# sourceMappingURL=ignore-list-out-of-bounds-2.js.map
