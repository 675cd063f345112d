//# sourceMappingURL=sources-not-a-list-2.js.map
