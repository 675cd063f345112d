//# sourceMappingURL=ignore-list-out-of-bounds-1.js.map
