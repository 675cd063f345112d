

                3
//# sourceMappingURL=vlq-valid-continuation-bit-present-2.js.map
