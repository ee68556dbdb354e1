// Moves the mark of charts to a step, without drawing their lines anew, and notes on the page that it was done.
window.populaceMark = (charts, step, place) => {
  for (const [id, name] of charts) {
    const chart = getElement(id)?.chart;
    chart?.setOption({ series: [{ name, markLine: { data: [{ xAxis: step }] } }] });
  }
  const shown = document.querySelector(`[data-testid=${place}]`);
  if (shown) shown.dataset.step = step;
};
