

  4;           3
//# sourceMappingURL=vlq-valid-negative-digit.js.map
