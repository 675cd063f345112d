//# sourceMappingURL=ignore-list-wrong-type-4.js.map
