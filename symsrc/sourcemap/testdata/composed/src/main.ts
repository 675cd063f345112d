import { bad, pay, callback, Cart } from "./cart.js";

pay(bad()).catch((e: any) => {
  console.log(e.stack);
  console.log(e.cause.stack);
  try {
    callback(() => { bad().total(); });
  } catch (x: any) {
    console.log(x.stack);
  }
});
