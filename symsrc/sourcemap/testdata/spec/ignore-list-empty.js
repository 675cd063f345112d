//# sourceMappingURL=ignore-list-empty.js.map
