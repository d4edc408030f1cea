/** `figure_modules.mjs` generates these modules. */
declare module "virtual:figures/picture" {
  /** Functions that draw each figure without a page, by the name of the figure's folder. */
  const pictures: Record<string, import("./shared/picture/sheet.js").DrawPicture<never>>;
  export default pictures;
}

declare module "virtual:figures/page" {
  /** Local kernels by the name of the figure's folder; other figures get no answers. */
  const kernels: Record<string, import("./shared/page/page_data.js").Kernel>;
  export default kernels;
}
