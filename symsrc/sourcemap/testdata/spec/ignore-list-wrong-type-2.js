//# sourceMappingURL=ignore-list-wrong-type-2.js.map
