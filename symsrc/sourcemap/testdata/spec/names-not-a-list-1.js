//# sourceMappingURL=names-not-a-list-1.js.map
