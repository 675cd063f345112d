//# sourceMappingURL=ignore-list-wrong-type-1.js.map
