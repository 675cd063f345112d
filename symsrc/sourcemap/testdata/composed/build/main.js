import { bad, pay, callback } from "./cart.js";
pay(bad()).catch((e) => {
    console.log(e.stack);
    console.log(e.cause.stack);
    try {
        callback(() => { bad().total(); });
    }
    catch (x) {
        console.log(x.stack);
    }
});
//# sourceMappingURL=main.js.map