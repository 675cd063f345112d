//# sourceMappingURL=ignore-list-wrong-type-3.js.map
